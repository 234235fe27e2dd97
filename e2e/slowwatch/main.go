// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command slowwatch is a proxy between node-authorizer and its API server that delays watch events.
// Specs run it on a control-plane host, to test requests that arrive before node-authorizer's cache
// has the objects.
//
// It listens on loopback without TLS, does not authenticate callers, and uses its client
// certificate for all of them. Use it only on test clusters, and only during the tests.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// settings are the flags.
type settings struct {
	listen, server, directory string
	delay                     time.Duration
}

func main() {
	var s settings
	flag.StringVar(&s.listen, "listen", "127.0.0.1:10469", "Where to listen.")
	flag.StringVar(&s.server, "server", "", "The API server, as https://host:port.")
	flag.StringVar(&s.directory, "directory", "/etc/kubernetes/bulkhead/node-authorizer",
		"Holds client.crt, client.key and kube-ca.crt.")
	flag.DurationVar(&s.delay, "delay", 5*time.Second, "Delay of all watch events.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "slowwatch:", err)
		os.Exit(1)
	}
}

// run serves until ctx is done, and then closes the watches.
func run(ctx context.Context, s settings) error {
	target, err := url.Parse(s.server)
	if err != nil {
		return fmt.Errorf("reading --server: %w", err)
	}
	transport, err := transportFrom(s.directory)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newProxy(target, transport, s.delay), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// transportFrom reads the client certificate again for every connection, because it is renewed.
func transportFrom(directory string) (*http.Transport, error) {
	ca, err := os.ReadFile(filepath.Join(directory, "kube-ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("there is no certificate in %s/kube-ca.crt", directory)
	}
	return &http.Transport{
		TLSClientConfig: &tls.Config{
			RootCAs:    pool,
			MinVersion: tls.VersionTLS12,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				pair, err := tls.LoadX509KeyPair(filepath.Join(directory, "client.crt"), filepath.Join(directory, "client.key"))
				return &pair, err
			},
		},
		ForceAttemptHTTP2: true,
		// Forward the content without compression or decompression.
		DisableCompression: true,
	}, nil
}
