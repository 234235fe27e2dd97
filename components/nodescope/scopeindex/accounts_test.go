// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

func TestAccounts(t *testing.T) {
	w := newWorld()
	if _, known := w.Account("ns", "agent"); known {
		t.Error("an account is known that nobody has told of")
	}
	for _, tc := range []struct {
		scope, exemptions string
		pods, secrets     bool
		taints            bool
		unread            int
	}{
		{none, none, false, false, false, 0},
		{"pods", none, true, false, false, 0},
		{"secrets", "taints", false, true, true, 0},
		{"", "", false, false, false, 0},
		{"Pods", none, true, true, false, 1},
		{"Pods", "taints", true, true, true, 1},
		{"pods", "labels", true, false, false, 1},
		{none, "taints", false, false, true, 0},
		{strings.Repeat("p", 256<<10), none, true, true, false, 1},
	} {
		w.SetAccount(serviceAccount("agent", tc.scope, tc.exemptions))
		a, known := w.Account("ns", "agent")
		if !known || a.Scope.Covers(pods) != tc.pods || a.Scope.Covers(secrets) != tc.secrets ||
			a.Exemptions.Lifts("NR-NODE-4") != tc.taints {
			t.Errorf("%.20q, %q: got %+v, %v", tc.scope, tc.exemptions, a, known)
		}
		if got := w.Stats().UnreadAccounts; got != tc.unread {
			t.Errorf("%.20q, %q: %d cannot be read", tc.scope, tc.exemptions, got)
		}
	}
	// The error is reported once, when it begins, and not again while it lasts.
	if diff := cmp.Diff([]string{"ServiceAccount ns/agent", "ServiceAccount ns/agent"}, w.unread); diff != "" {
		t.Errorf("told of (-want +got):\n%s", diff)
	}
	w.DeleteAccount("ns", "agent")
	if _, known := w.Account("ns", "agent"); known || w.Stats() != (Stats{}) {
		t.Error("a deleted account is known")
	}
}

// If the mode cannot be parsed, the scope is enforced, and the error is reported.
func TestModes(t *testing.T) {
	w := newWorld()
	for _, tc := range []struct {
		mode   string
		audits bool
		unread int
	}{
		{"audit", true, 0}, {" audit\n", true, 0}, {"enforce", false, 0}, {"Audit", false, 1}, {"", false, 1},
		{"off", false, 1},
	} {
		sa := serviceAccount("agent", "pods", none)
		sa.Annotations[nodescope.ModeAnnotation] = tc.mode
		w.SetAccount(sa)
		a, known := w.Account("ns", "agent")
		if !known || a.Audits != tc.audits || !a.Scope.Covers(pods) || w.Stats().UnreadAccounts != tc.unread {
			t.Errorf("%q: got %+v, %v; %+v", tc.mode, a, known, w.Stats())
		}
	}
	if len(w.unread) != 1 {
		t.Errorf("told of %v", w.unread)
	}
	w.SetAccount(serviceAccount("agent", "pods", none))
	if a, _ := w.Account("ns", "agent"); a.Audits {
		t.Error("an account without a mode is in audit")
	}
}

func TestAListReplacesAccounts(t *testing.T) {
	w := newWorld()
	w.SetAccount(serviceAccount("gone", "pods", none))
	w.SetAccount(serviceAccount("stays", "pods", none))
	w.SetAccount(serviceAccount("stays", "secrets", none))
	w.SetAccount(serviceAccount("new", none, none))
	w.RetainAccounts(map[types.NamespacedName]struct{}{
		{Namespace: "ns", Name: "stays"}: {}, {Namespace: "ns", Name: "new"}: {},
	})
	for name, want := range map[string]bool{"gone": false, "stays": true, "new": true} {
		if _, known := w.Account("ns", name); known != want {
			t.Errorf("%s is known: %v", name, known)
		}
	}
	if a, _ := w.Account("ns", "stays"); a.Scope.Covers(pods) || !a.Scope.Covers(secrets) {
		t.Error("the list's annotation does not count")
	}
	if len(w.values.known) != 1 {
		t.Errorf("%d values are kept", len(w.values.known))
	}
}

func TestAccountsHaveTheScopesOfTheirPods(t *testing.T) {
	w := newWorld()
	w.SetAccount(serviceAccount("agent", none, none))
	scopeValue := func(wantPods, wantSecrets bool) {
		t.Helper()
		a, _ := w.Account("ns", "agent")
		if a.Scope != nil || a.OfPods.Covers(pods) != wantPods || a.OfPods.Covers(secrets) != wantSecrets {
			t.Errorf("got %+v", a)
		}
	}
	scopeValue(false, false)
	w.set(pod("a", "1", "pods"))
	w.set(pod("b", "2", "pods"))
	scopeValue(true, false)
	w.set(pod("c", "3", "secrets"))
	scopeValue(true, true)
	w.remove("a")
	scopeValue(true, true)
	w.RetainPods(map[types.NamespacedName]struct{}{{Namespace: "ns", Name: "c"}: {}})
	scopeValue(false, true)
	w.set(pod("c", "3", "pods"))
	scopeValue(true, false)
	w.remove("c")
	scopeValue(false, false)
}
