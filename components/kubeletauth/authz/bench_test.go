// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"testing"

	"k8s.io/component-base/metrics"
)

// BenchmarkCachedDecision measures a decision from the cache.
func BenchmarkCachedDecision(b *testing.B) {
	a, err := New(Config{Options: DefaultOptions(), Reviews: says(allowed, nil), Registry: metrics.NewKubeRegistry()})
	if err != nil {
		b.Fatal(err)
	}
	attrs := request()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = a.Authorize(b.Context(), attrs)
	}
}
