// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"net/http"
	"testing"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

// BenchmarkCachedCredential measures a request whose credential is in the cache.
func BenchmarkCachedCredential(b *testing.B) {
	ca := testpki.NewCA(b, "ca")
	certificate := testpki.Request(b, ca.Client(b, "c", []string{"o"}))
	cached := newHeldFor(ca, nil)
	b.Run("certificate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = cached.AuthenticateRequest(certificate)
		}
	})
	config := Config{Options: DefaultOptions(), Reviews: newAPIServer(), Registry: metrics.NewKubeRegistry()}
	a, err := New(config)
	if err != nil {
		b.Fatal(err)
	}
	token := testpki.Request(b)
	b.Run("token", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			token.Header = http.Header{"Authorization": {"Bearer " + kubeletToken}}
			_, _, _ = a.AuthenticateRequest(token)
		}
	})
}
