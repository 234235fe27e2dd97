// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// One client cannot use all places. Other clients are still served.
func TestOneUserCannotTakeAllPlaces(t *testing.T) {
	kubelet := newStreaming(t)
	w := start(t, kubelet, func(s *settings) { s.limits.Streams = 2 })
	w.tokens.Store("other", "other")
	for range 2 {
		if _, _, err := w.websocket("/exec/ns/pod/c"); err != nil {
			t.Fatal(err)
		}
	}
	got := w.do(w.client(w.admin(), false), http.MethodGet, "/exec/ns/pod/c", nil)
	if got.code != http.StatusTooManyRequests || !strings.HasSuffix(got.body, "[KA-LIMIT-1]\n") ||
		got.header.Get("Retry-After") != "1" {
		t.Errorf("answered %d %s %v", got.code, got.body, got.header)
	}
	for name, path := range map[string]string{"admin": "/pods", "other": "/exec/ns/pod/c"} {
		config := w.admin()
		if name == "other" {
			config.Certificates = nil
		}
		got := w.do(w.client(config, false), http.MethodGet, path, func(req *http.Request) {
			if name == "other" {
				req.Header.Set("Authorization", "Bearer other")
			}
		})
		if got.code != http.StatusOK {
			t.Errorf("%s for %s is answered %d %s", path, name, got.code, got.body)
		}
	}
}

// Every request frees its places, whatever its outcome.
func TestRequestSlotsAreReleased(t *testing.T) {
	w := start(t, newStreaming(t), func(s *settings) { s.limits.Requests, s.limits.AllRequests = 4, 4 })
	client := w.client(w.admin(), true)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, path := range []string{"/pods", "/nothing", "/pods//x", "/metrics"} {
				w.do(client, http.MethodGet, path, nil)
			}
		})
	}
	group.Wait()
	for name, limiter := range map[string]interface{ Held() (int, int) }{
		"authenticating": w.handler.authenticating, "authorizing": w.handler.authorizing, "requests": w.handler.requests,
		"streams": w.handler.lasting,
	} {
		if taken, users := limiter.Held(); taken != 0 || users != 0 {
			t.Errorf("%s: %d places of %d are still taken", name, taken, users)
		}
	}
}

// A client without the right to a stream does not use a place for streams, however long its
// authorization takes.
func TestUnauthorizedRequestsUseNoStreamSlot(t *testing.T) {
	w := start(t, newStreaming(t), func(s *settings) { s.limits.Streams, s.limits.AllStreams = 1, 1 })
	w.tokens.Store("stranger", "stranger")
	asked, decide := make(chan struct{}), make(chan struct{})
	w.decides(func(a authorizer.Attributes) (Answer, error) {
		if a.GetUser().GetName() != "stranger" {
			return Answer{Allowed: true}, nil
		}
		asked <- struct{}{}
		<-decide
		return Answer{}, nil
	})
	config := w.admin()
	config.Certificates = nil
	refused := make(chan got, 1)
	go func() {
		refused <- w.do(w.client(config, false), http.MethodGet, "/exec/ns/pod/c",
			func(req *http.Request) { req.Header.Set("Authorization", "Bearer stranger") })
	}()
	<-asked
	if _, _, err := w.websocket("/exec/ns/pod/c"); err != nil {
		t.Errorf("the one place is taken by who may not have it: %v", err)
	}
	close(decide)
	if got := <-refused; got.code != http.StatusForbidden {
		t.Errorf("answered %d %s", got.code, got.body)
	}
}

// The proxy binds the kubelet's port as soon as the kubelet has released it.
func TestBindingWaits(t *testing.T) {
	taken, err := bind(t.Context(), "127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	port := portOf(taken)
	bound := make(chan error, 1)
	go func() {
		listener, err := bind(t.Context(), "127.0.0.1", port)
		if err == nil {
			err = listener.Close()
		}
		bound <- err
	}()
	select {
	case err := <-bound:
		t.Fatalf("bound beside another: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	_ = taken.Close()
	if err := <-bound; err != nil {
		t.Error(err)
	}
}

func portOf(listener net.Listener) int {
	address, _ := listener.Addr().(*net.TCPAddr)
	return address.Port
}
