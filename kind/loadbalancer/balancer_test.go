// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const threeServers = `
resources:
- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: kube_apiservers
  load_assignment:
    cluster_name: kube_apiservers
    endpoints:
    - lb_endpoints:
      - endpoint: {address: {socket_address: {address: a, port_value: 6443}}}
      - endpoint: {address: {socket_address: {address: b, port_value: 6443}}}
      - endpoint: {address: {socket_address: {address: c, port_value: 6443}}}
`

func TestParseServers(t *testing.T) {
	for _, tc := range []struct {
		name, config string
		want         []string
		wrong        bool
	}{
		{"three servers", threeServers, []string{"a:6443", "b:6443", "c:6443"}, false},
		{"kind's configuration before the control planes exist", "resources: []", nil, false},
		{"invalid YAML", "resources: [", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseServers([]byte(tc.config))
			if (err != nil) != tc.wrong {
				t.Fatalf("error: %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestServersTakeTurnsAndFailedServersGetNoConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var down sync.Map
		b := newBalancer(func(_ context.Context, address string) error {
			if _, is := down.Load(address); is {
				return errors.New("down")
			}
			return nil
		}, nil)
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, b.choose()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		expect("before the configuration")
		if err := b.configure(ctx, []byte(threeServers)); err != nil {
			t.Fatal(err)
		}
		expect("second call", "b:6443", "c:6443", "a:6443")
		expect("third call", "c:6443", "a:6443", "b:6443")
		down.Store("b:6443", true)
		time.Sleep(checkInterval)
		expect("after one failed check", "a:6443", "b:6443", "c:6443")
		time.Sleep(checkInterval)
		expect("after two failed checks", "c:6443", "a:6443")
		down.Delete("b:6443")
		time.Sleep(checkInterval)
		expect("after one good check", "c:6443", "a:6443", "b:6443")
		for _, address := range []string{"a:6443", "b:6443", "c:6443"} {
			down.Store(address, true)
		}
		time.Sleep(2 * checkInterval)
		expect("when no server is healthy", "a:6443", "b:6443", "c:6443")
		if err := b.configure(ctx, []byte("resources: []")); err != nil {
			t.Fatal(err)
		}
		expect("without servers")
	})
}

func TestForwardUsesTheNextServerIfOneDoesNotAccept(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = echo.Close() }()
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go pipe(conn, conn)
		}
	}()
	b := newBalancer(nil, func(address string) (net.Conn, error) {
		if address == "dead" {
			return nil, errors.New("connection refused")
		}
		return net.Dial("tcp", address)
	})
	b.servers = []*server{{address: "dead", healthy: true}, {address: echo.Addr().String(), healthy: true}}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = front.Close() }()
	go b.accept(front)
	conn, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "hello" {
		t.Errorf("got %q, error %v", got, err)
	}
}
