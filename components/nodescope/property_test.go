// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// entries are the entries of the scopes in these tests. The last ones cannot be parsed.
var entries = []string{
	"pods", "pods/status", "pods/eviction", "nodes", "nodes/status", "nodes/proxy", "secrets", "configmaps", "events",
	"events.events.k8s.io",
	"leases.coordination.k8s.io", "deployments.apps", "*.storage.k8s.io", "*.example.com", "widgets.example.com",
	"gadgets.example.com",
	"pods/-", "nodes/-", "pods/log", "nodes/metrics", "serviceaccounts", "serviceaccounts/token", "bindings",
	"*.authorization.k8s.io", "*", "pods/*", "Pods", "", "endpointslices.discovery.k8s.io",
}

// TestAddingAResourceNeverLetsMorePass sends every request of the tables with the scope on the
// account, on the pod, and divided between them.
func TestAddingAResourceNeverLetsMorePass(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	rows := allRows()
	narrowed := 0
	for range 100 {
		var value []string
		for range dice.IntN(5) {
			value = append(value, entries[dice.IntN(len(entries)-4)])
		}
		more := entries[dice.IntN(len(entries))]
		before, after := strings.Join(value, ","), strings.Join(append(value, more), ",")
		for name, worlds := range map[string][2]*Authorizer{
			"the account": {held(t, before, ""), held(t, after, "")},
			"the pod":     {held(t, "", before), held(t, "", after)},
			"both":        {held(t, before, ""), held(t, before, more)},
		} {
			for _, tc := range rows {
				was, _, _ := worlds[0].Authorize(t.Context(), tc.complete())
				is, reason, _ := worlds[1].Authorize(t.Context(), tc.complete())
				if was == authorizer.DecisionDeny && is != authorizer.DecisionDeny {
					t.Fatalf("%s, %s is added to %q: %s passes by %q", name, more, before, tc.name, reason)
				}
				if was != is {
					narrowed++
				}
			}
		}
	}
	if narrowed < 500 {
		t.Errorf("only %d answers changed", narrowed)
	}
}

// held returns an authorizer with these annotations on the account and on the pod of the node
// "me". As in a cluster, the scope is everything if a value cannot be parsed.
func held(tb testing.TB, ofAccount, ofPod string) *Authorizer {
	tb.Helper()
	account, _ := ParseScope(ofAccount)
	pod, _ := ParseScope(ofPod)
	c := clusterOf(Account{Scope: account, OfPods: pod})
	mine := c.pods["ns/agent-me"]
	mine.Scope = pod
	c.pods["ns/agent-me"] = mine
	return newOver(tb, c)
}

// A scope never allows a request. The scope of everything denies each request that any other
// scope denies.
func TestNothingPassesEverythingThatOneScopeStops(t *testing.T) {
	everything := held(t, "*", "")
	for _, entry := range entries {
		z := held(t, entry, "")
		for _, tc := range allRows() {
			was, _, _ := z.Authorize(t.Context(), tc.complete())
			is, reason, _ := everything.Authorize(t.Context(), tc.complete())
			if was == authorizer.DecisionAllow || is == authorizer.DecisionAllow || was == authorizer.DecisionDeny &&
				is != authorizer.DecisionDeny {
				t.Errorf("%q: %s is %v, with everything %v %q", entry, tc.name, was, is, reason)
			}
		}
	}
}

// All values that cannot be parsed deny the same requests.
func TestInvalidValuesDenyTheSameRequests(t *testing.T) {
	for _, broken := range entries[len(entries)-4:] {
		if broken == "" {
			broken = ","
		}
		z, everything := held(t, broken, ""), held(t, "*", "")
		for _, tc := range allRows() {
			got, gotReason, _ := z.Authorize(t.Context(), tc.complete())
			want, wantReason, _ := everything.Authorize(t.Context(), tc.complete())
			if fmt.Sprint(got, gotReason) != fmt.Sprint(want, wantReason) {
				t.Errorf("%q: %s is %v %q, want %v %q", broken, tc.name, got, gotReason, want, wantReason)
			}
		}
	}
}
