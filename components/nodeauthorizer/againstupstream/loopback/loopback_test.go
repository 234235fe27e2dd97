// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/bench"
)

// Both handlers answer over mutual TLS, and everything can be measured.
func TestReviews(t *testing.T) {
	c, err := newContest(t.Context(), t.TempDir(), bench.Shape{Nodes: 3, PodsPerNode: 2, Namespaces: 1, Own: true})
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.measure(t.Context(), bench.Plan{Runs: 1, Say: t.Logf}, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range found.rows(c.What, c.Other) {
		if !(row.Value > 0) {
			t.Errorf("%s: %v", row.What, row.Value)
		}
	}
	// Ours decides: the constant allows this too.
	review := SecretReview("node0", "ns0", "secret0-pod0-node1")
	caller, err := NewCaller(c.addresses[0], c.files)
	if err != nil {
		t.Fatal(err)
	}
	if status, err := caller.Ask(t.Context(), review); err != nil || status.Allowed {
		t.Errorf("ours answers %+v, error %v", status, err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}

// What is compared with a constant is decided: the pod of another node is refused.
func TestScopedReviews(t *testing.T) {
	c, err := newScopedContest(t.Context(), t.TempDir(), bench.Shape{Nodes: 3, PodsPerNode: 2, Namespaces: 1, Own: true})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		for i := range c.calls {
			if err := c.calls[i](t.Context(), n); err != nil {
				t.Error(err)
			}
		}
	}
	review := scopedReview("pod0-node0", "node0")
	review.Spec.ResourceAttributes.Name = "secret0-pod0-node1"
	caller, err := NewCaller(c.addresses[0], c.files)
	if err != nil {
		t.Fatal(err)
	}
	if status, err := caller.Ask(t.Context(), review); err != nil || !status.Denied || !strings.HasSuffix(status.Reason, "[NS-SCOPE-1]") {
		t.Errorf("ours answers %+v, error %v", status, err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}
