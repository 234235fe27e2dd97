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

// kubeletReview is a kubelet's request for a token, as kube-apiserver writes it.
const kubeletReview = `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1",` +
	`"metadata":{"creationTimestamp":null},"spec":{"resourceAttributes":{"namespace":"ns","verb":"create",` +
	`"version":"v1","resource":"serviceaccounts","subresource":"token","name":"a"},` +
	`"user":"system:node:x","groups":["system:nodes","system:authenticated"],` +
	`"extra":{"authentication.kubernetes.io/credential-id":["X509SHA256=01"]}},"status":{"allowed":false}}`

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
	body := strings.NewReader(kubeletReview)
	req := httptest.NewRequest(http.MethodPost, "/authorize", io.NopCloser(body))
	req.Header.Set("Content-Type", "application/json")
	w := discard{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		body.Reset(kubeletReview)
		h.ServeHTTP(w, req)
	}
}
