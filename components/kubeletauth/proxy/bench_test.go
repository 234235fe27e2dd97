// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkHandler measures the overhead over a bare reverse proxy, without a network:
// authentication, authorization, audit. `make bench` compares both over the network.
func BenchmarkHandler(b *testing.B) {
	w := start(b, http.NotFoundHandler(), func(s *settings) { s.quiet = true })
	req := httptest.NewRequest(http.MethodGet, "https://n/metrics/resource", nil)
	state := w.admin()
	leaf, err := parsed(state)
	if err != nil {
		b.Fatal(err)
	}
	req.TLS.PeerCertificates = leaf
	b.ReportAllocs()
	for b.Loop() {
		x := w.handler.newRequest(httptest.NewRecorder(), req)
		if refused := w.handler.decide(x, req); refused != nil {
			b.Fatal(refused.Reason())
		}
		x.finish()
	}
}
