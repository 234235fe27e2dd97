// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func at[T interface{ SetResourceVersion(string) }](version string, object T) T {
	object.SetResourceVersion(version)
	return object
}

// The version is that of the last change of an annotation, and the digest says which
// annotations they are.
func TestVersions(t *testing.T) {
	x := NewAnnotations()
	agent := types.NamespacedName{Namespace: "ns", Name: "agent"}
	audited := accountOf("agent", "pods")
	audited.Annotations["bulkhead.dev/node-scope-mode"] = "audit"
	last := Versions{}
	for _, step := range []struct {
		name          string
		do            func()
		account, pods string
		// same is true if the digest is that of the step before.
		same bool
	}{
		{"an account with a scope", func() { x.SetAccount(at("10", accountOf("agent", "pods"))) }, "10", "", false},
		{"another change of it", func() { x.SetAccount(at("11", accountOf("agent", "pods"))) }, "10", "", true},
		{"in audit", func() { x.SetAccount(at("12", audited)) }, "12", "", false},
		{"audit ends", func() { x.SetAccount(at("13", accountOf("agent", "pods"))) }, "13", "", false},
		{"a pod with a scope", func() { x.SetPod(at("20", podOf("p", "agent", "nodes"))) }, "13", "20", false},
		{"another change of it", func() { x.SetPod(at("21", podOf("p", "agent", "nodes"))) }, "13", "20", true},
		{"a second pod with the same", func() { x.SetPod(at("9", podOf("q", "agent", "nodes"))) }, "13", "20", true},
		{"the second has another", func() { x.SetPod(at("100", podOf("q", "agent", "*"))) }, "13", "100", false},
		{"a version that cannot be compared", func() { x.SetPod(at("x", podOf("r", "agent", "*"))) }, "13", "x", true},
		{"the account has none", func() { x.SetAccount(at("14", accountOf("agent", none))) }, "", "x", false},
	} {
		step.do()
		v := x.Versions()[agent]
		// Of versions that cannot be compared, one that nobody can have seen wins.
		if step.pods == "x" && v.Pods != "" {
			v.Pods = step.pods
		}
		if v.Account != step.account || v.Pods != step.pods || v.Digest == "" || (v.Digest == last.Digest) != step.same {
			t.Errorf("%s: got %+v after %+v", step.name, v, last)
		}
		last = v
	}
	x.RetainPods(nil)
	if got := x.Versions(); len(got) != 0 {
		t.Errorf("left is %v", got)
	}
}

// What only names a mode is told of too, once a pod of the account has a scope.
func TestAModeCountsForAnAccountOfPods(t *testing.T) {
	x := NewAnnotations()
	sa := accountOf("agent", none)
	x.SetPod(podOf("p", "agent", "pods"))
	without := x.Versions()[types.NamespacedName{Namespace: "ns", Name: "agent"}].Digest
	sa.Annotations["bulkhead.dev/node-scope-mode"] = "audit"
	x.ReplaceAccounts([]*corev1.ServiceAccount{sa})
	if got := x.Versions()[types.NamespacedName{Namespace: "ns", Name: "agent"}].Digest; got == without ||
		names(x) != "agent" {
		t.Errorf("the mode does not count: %q, %q", got, names(x))
	}
	x.DeletePod("ns", "p")
	if names(x) != "" {
		t.Errorf("listed is %q", names(x))
	}
}

// A namespace has a share of values, and who is beyond it is named with the reason.
func TestValuesBeyondTheShareAreTold(t *testing.T) {
	x := NewAnnotations()
	for i := range 70 {
		name := string(rune('a'+i/10)) + string(rune('0'+i%10))
		x.SetAccount(accountOf(name, "r-"+name))
	}
	if got := x.Unread(); len(got) != 6 || len(x.Candidates()) != 70 {
		t.Errorf("%d are named: %v", len(got), got)
	}
}
