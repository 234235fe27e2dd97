// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkHandler measures one allowed review, from body to answer, without HTTP.
func BenchmarkHandler(b *testing.B) {
	config := testConfig(asX)
	config.Clock = clock.RealClock{}
	h := New(config)
	review := usual(b, kubelets()[0])
	body := strings.NewReader(review)
	req := httptest.NewRequest(http.MethodPost, "/authorize", io.NopCloser(body))
	req.Header.Set("Content-Type", "application/json")
	w := discard{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		body.Reset(review)
		h.ServeHTTP(w, req)
	}
}
