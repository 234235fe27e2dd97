// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"testing"
	"time"

	nodebench "github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/bench"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/bench"
)

// TestReviews holds that both handlers admit over mutual TLS, and that all can be
// measured.
func TestReviews(t *testing.T) {
	restriction, err := bench.Hardened()
	if err != nil {
		t.Fatal(err)
	}
	section, err := Reviews(t.Context(), restriction, nodebench.Plan{Runs: 1, Say: t.Logf}, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(section.Rows) == 0 {
		t.Error("nothing was measured")
	}
	for _, row := range section.Rows {
		if !(row.Value > 0) {
			t.Errorf("%s: %v", row.What, row.Value)
		}
	}
}
