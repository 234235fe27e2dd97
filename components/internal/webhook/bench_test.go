// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"
	"time"
)

// BenchmarkLimiter measures the cost of the limits for one request.
func BenchmarkLimiter(b *testing.B) {
	l := NewLimiter(Limits{InFlight: 100, InFlightPerNode: 100}, time.Second)
	b.ReportAllocs()
	for b.Loop() {
		release, over := l.AdmitNode(b.Context(), "x")
		if over != WithinLimits {
			b.Fatal(over)
		}
		release()
	}
}
