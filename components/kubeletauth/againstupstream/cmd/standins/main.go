// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command standins serves a stand-in for a kubelet and one for a kube-apiserver, over
// TLS with client certificates: see package standin.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/standin"
)

func main() {
	kubelet := flag.String("kubelet", "127.0.0.1:0", "where the kubelet listens")
	apiServer := flag.String("apiserver", "127.0.0.1:0", "where the kube-apiserver listens")
	latency := flag.Duration("latency", 0, "how long a review takes")
	cert := flag.String("cert", "", "serving certificate of both")
	key := flag.String("key", "", "its key")
	ca := flag.String("client-ca", "", "CA of the clients' certificates")
	flag.Parse()
	failed := make(chan error, 2)
	for address, handler := range map[string]http.Handler{*kubelet: standin.Kubelet(), *apiServer: standin.APIServer(*latency)} {
		go func() { failed <- serve(address, handler, *cert, *key, *ca) }()
	}
	fmt.Fprintln(os.Stderr, "standins:", <-failed)
	os.Exit(1)
}

func serve(address string, handler http.Handler, cert, key, ca string) error {
	data, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(data)
	server := &http.Server{
		Addr: address, Handler: handler, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients},
	}
	return server.ListenAndServeTLS(cert, key)
}
