// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command bareproxy is the standard library's reverse proxy in front of a kubelet: see
// package bare. It lets everybody through.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/bare"
)

func main() {
	var c bare.Config
	flag.StringVar(&c.CertFile, "cert", "", "serving certificate")
	flag.StringVar(&c.KeyFile, "key", "", "its key")
	flag.StringVar(&c.ClientCAFile, "client-ca", "", "CAs that are named to clients")
	flag.StringVar(&c.Kubelet, "kubelet", "", "host:port of the kubelet")
	flag.StringVar(&c.KubeletCAFile, "kubelet-ca", "", "CA of the kubelet's certificate, which is for localhost")
	flag.StringVar(&c.ClientCertFile, "kubelet-client-cert", "", "what the kubelet is shown")
	flag.StringVar(&c.ClientKeyFile, "kubelet-client-key", "", "its key")
	address := flag.String("address", "127.0.0.1:0", "where to listen")
	health := flag.String("health", "127.0.0.1:0", "where /readyz and /metrics are")
	flag.Parse()
	if err := serve(c, *address, *health); err != nil {
		fmt.Fprintln(os.Stderr, "bareproxy:", err)
		os.Exit(1)
	}
}

// serve serves until it is killed.
func serve(c bare.Config, address, health string) error {
	server, err := bare.New(c)
	if err != nil {
		return err
	}
	server.Addr = address
	probes := bare.Health()
	probes.Addr = health
	failed := make(chan error, 2)
	go func() { failed <- server.ListenAndServeTLS("", "") }()
	go func() { failed <- probes.ListenAndServe() }()
	return errors.Join(<-failed, server.Close(), probes.Close())
}
