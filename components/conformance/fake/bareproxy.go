// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"
)

// ProxyConfig contains the paths of PEM files, and the kubelet's address.
type ProxyConfig struct {
	// CertFile and KeyFile are the serving certificate. ClientCAFile is the CA whose name clients
	// receive in the handshake.
	CertFile, KeyFile, ClientCAFile string
	// Kubelet is the host:port of the kubelet. Its certificate must be signed by KubeletCAFile, for
	// localhost. The proxy presents ClientCertFile.
	Kubelet, KubeletCAFile        string
	ClientCertFile, ClientKeyFile string
}

// maxIdle is the value of kubelet-auth-proxy. With the standard library's default of 2, concurrent
// callers would open new connections all the time.
const maxIdle = 128

// NewBareProxy returns the standard library's reverse proxy with the TLS settings of
// kubelet-auth-proxy, and nothing else: every request is forwarded. The server has no address yet.
// Its certificate is in its configuration.
func NewBareProxy(c ProxyConfig) (*http.Server, error) {
	serving, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	client, err := tls.LoadX509KeyPair(c.ClientCertFile, c.ClientKeyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the client certificate: %w", err)
	}
	clientCAs, err := pool(c.ClientCAFile)
	if err != nil {
		return nil, err
	}
	kubeletCAs, err := pool(c.KubeletCAFile)
	if err != nil {
		return nil, err
	}
	return &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "https", Host: c.Kubelet}) },
			// HTTP/1.1, as in kubelet-auth-proxy. A transport with its own TLS configuration uses
			// it by default.
			Transport: &http.Transport{
				TLSClientConfig: &tls.Config{
					MinVersion:   tls.VersionTLS12,
					RootCAs:      kubeletCAs,
					ServerName:   "localhost",
					Certificates: []tls.Certificate{client},
				},
				MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle, DisableCompression: true,
			},
		},
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{serving},
			ClientAuth: tls.RequestClientCert, ClientCAs: clientCAs, NextProtos: []string{"h2", "http/1.1"},
		},
	}, nil
}

func pool(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading a CA: %w", err)
	}
	all := x509.NewCertPool()
	if !all.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("no certificate in %s", file)
	}
	return all, nil
}
