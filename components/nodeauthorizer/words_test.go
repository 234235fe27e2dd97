// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The same words by another rule are another reason.
func TestWordsAreOfARule(t *testing.T) {
	w := say("not so")
	for range 2 {
		for _, r := range []*rule{secretGet, secretList, limit} {
			if got, want := w.by(r), "not so ["+string(r.ID)+"]"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}

func TestEveryRuleHasItsNumber(t *testing.T) {
	owners := map[uint64]rules.ID{}
	for _, r := range []*rule{secretGet, secretList, nothingElse, limit, passKubeadm, nodeRegistered, podEnded} {
		if owner, taken := owners[r.number]; taken {
			t.Errorf("%s has the number of %s", r.ID, owner)
		}
		owners[r.number] = r.ID
	}
}

// Eight thousand nodes share half as many places, from many goroutines: each gets
// its own reason, every time.
func TestNodesShareRoomForReasons(t *testing.T) {
	reasons := newNodeReasons()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 2 * nodeReasonsKept {
				node := fmt.Sprintf("node-%d", i)
				for _, r := range []*rule{secretGet, configMapGet} {
					if got, want := reasons.of(node, r, unrelatedTo), noRelationship(node, r.end); got != want {
						t.Errorf("got %q, want %q", got, want)
						return
					}
					if got, want := reasons.of(node, r, allNodes), cannotReadAll(node, r.end); got != want {
						t.Errorf("got %q, want %q", got, want)
						return
					}
				}
			}
		})
	}
	group.Wait()
}

func TestLongNamesAreNotKept(t *testing.T) {
	for n, kept := range map[int]int{maxNodeName: 1, maxNodeName + 1: 0} {
		reasons, node := newNodeReasons(), strings.Repeat("n", n)
		if got, want := reasons.of(node, secretGet, unrelatedTo), noRelationship(node, secretGet.end); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		found := 0
		for i := range reasons.kept {
			if reasons.kept[i].Load() != nil {
				found++
			}
		}
		if found != kept {
			t.Errorf("a name of %d bytes: %d kept, want %d", n, found, kept)
		}
	}
}

// What kubelets are refused most often is refused without an allocation.
func TestRefusalsDoNotAllocate(t *testing.T) {
	z := newIn(Strict, DefaultFeatures())
	for _, asks := range []request{
		{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "other"},
		{Verb: "list", Resource: "secrets", Namespace: "ns"},
		{Verb: "get", Resource: "leases", APIGroup: "coordination.k8s.io", Namespace: leaseNamespace, Name: "other"},
		{Verb: "list", Resource: "pods"},
		{Verb: "list", Resource: "nodes"},
	} {
		a := complete(asks)
		v := z.decide(t.Context(), "me", a)
		if v.effect != refused {
			t.Fatalf("%s %s is not refused", a.Verb, a.Resource)
		}
		if n := testing.AllocsPerRun(100, func() { _, _, _ = z.Authorize(t.Context(), a) }); n != 0 {
			t.Errorf("%s %s: %v allocations", a.Verb, a.Resource, n)
		}
	}
}
