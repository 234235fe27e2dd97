// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// accountIn returns an account of the namespace with this value.
func accountIn(namespace, name, scope string) *corev1.ServiceAccount {
	sa := serviceAccount(name, scope, none)
	sa.Namespace = namespace
	return sa
}

// fill makes a namespace use n different values, on accounts and on pods.
func fill(w *world, namespace string, n int) {
	for i := range n {
		value := fmt.Sprintf("r%d", i)
		w.SetAccount(accountIn(namespace, fmt.Sprintf("a%d", i), value))
		p := pod(fmt.Sprintf("p%d", i), fmt.Sprint(i), value)
		p.Namespace = namespace
		w.set(p)
	}
}

func TestSharesOfValues(t *testing.T) {
	const many = 80 // namespaces, which together need more than all the room
	for _, tc := range []struct {
		name      string
		others    int
		namespace string
		n, want   int
	}{
		{"as many as the share is", 0, "ns", MaxOwnValues, MaxOwnValues},
		{"one more", 0, "ns", MaxOwnValues + 1, MaxOwnValues},
		{"one other namespace wants all", 1, "ns", MaxOwnValues, MaxOwnValues},
		{"many other namespaces with all values: only the reserved share", many, "ns", MaxOwnValues, ReservedValues},
		{"kube-system has no share", 0, "kube-system", 300, 300},
		{"kube-system, although many other namespaces have all", many, "kube-system", 300, 300},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld()
			for i := range tc.others {
				fill(w, fmt.Sprintf("other-%d", i), 2*MaxOwnValues)
			}
			before := w.Stats()
			fill(w, tc.namespace, tc.n)
			for i := range tc.n {
				overShare := i >= tc.want
				a, _ := w.Account(tc.namespace, fmt.Sprintf("a%d", i))
				p, _ := w.Pod(tc.namespace, fmt.Sprintf("p%d", i))
				if a.Scope.IsEverything() != overShare || p.Scope.IsEverything() != overShare {
					t.Fatalf("value %d: the account is held on everything: %v, the pod: %v; want %v", i, a.Scope.IsEverything(),
						p.Scope.IsEverything(), overShare)
				}
			}
			now := w.Stats()
			if got := now.AccountsOverShare - before.AccountsOverShare; got != tc.n-tc.want ||
				now.PodsOverShare-before.PodsOverShare != got {
				t.Errorf("%d accounts and %d pods are beyond, want %d", got, now.PodsOverShare-before.PodsOverShare, tc.n-tc.want)
			}
			w.RetainPods(nil)
			w.RetainAccounts(nil)
			if len(w.values.known) != 0 || len(w.values.count) != 0 || len(w.ofPods) != 0 {
				t.Errorf("%d values, %d counts and %d accounts are left", len(w.values.known), len(w.values.count), len(w.ofPods))
			}
		})
	}
}

// A user who annotates pods does not use the share of the namespace's accounts.
func TestPodsAndAccountsHaveSharesOfTheirOwn(t *testing.T) {
	w := newWorld()
	for i := range 2 * MaxOwnValues {
		w.set(pod(fmt.Sprintf("p%d", i), fmt.Sprint(i), fmt.Sprintf("r%d", i)))
	}
	w.SetAccount(serviceAccount("agent", "pods", none))
	if a, _ := w.Account("ns", "agent"); a.Scope.IsEverything() || !a.Scope.Covers(pods) {
		t.Errorf("got %+v", a)
	}
}

// The changes of one namespace never affect the scopes of accounts and pods in another.
func TestOneNamespaceDoesNotChangeAnother(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		w := newWorld()
		mine := map[string]string{}
		for range 3000 {
			n := rng.IntN(1000)
			value := fmt.Sprintf("r%d", rng.IntN(200))
			switch rng.IntN(5) {
			case 0:
				w.SetAccount(accountIn("b", fmt.Sprintf("a%d", n), value))
			case 1:
				w.DeleteAccount("b", fmt.Sprintf("a%d", n))
			case 2:
				p := pod(fmt.Sprintf("p%d", n), fmt.Sprint(n), value)
				p.Namespace = "b"
				w.set(p)
			case 3:
				w.DeletePod("b", fmt.Sprintf("p%d", n))
			case 4:
				i := rng.IntN(MaxOwnValues)
				name := fmt.Sprintf("a%d", i)
				// Each account has its own value, so there are as many values as the share
				// allows.
				value = fmt.Sprintf("r%d-%d", i, rng.IntN(2))
				mine[name] = value
				w.SetAccount(accountIn("a", name, value))
			}
		}
		for name, value := range mine {
			a, known := w.Account("a", name)
			if !known || a.Scope.IsEverything() || !a.Scope.Covers(nodescope.Resource{Resource: value}) {
				t.Fatalf("%s with %q: got %+v, %v", name, value, a, known)
			}
		}
	}
}

func TestCandidates(t *testing.T) {
	w := newWorld()
	w.SetAccount(serviceAccount("plain", none, "taints"))
	w.SetAccount(serviceAccount("agent", "pods", none))
	w.SetAccount(serviceAccount("of-pod", none, none))
	for name, runs := range map[string]string{"p": "agent", "q": "of-pod", "r": "deleted", "s": ""} {
		p := pod(name, name, "pods")
		p.Spec.ServiceAccountName = runs
		w.set(p)
	}
	got := map[types.NamespacedName]bool{}
	for _, c := range w.Candidates() {
		got[c.Account] = c.Rank == 0
	}
	want := map[string]bool{"agent": true, "of-pod": false, "deleted": false}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, own := range want {
		if is, there := got[types.NamespacedName{Namespace: "ns", Name: name}]; !there || is != own {
			t.Errorf("%s: got %v, %v", name, is, there)
		}
	}
}
