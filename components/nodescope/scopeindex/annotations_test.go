// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func meta(name, uid, scope string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid), Annotations: map[string]string{"other": "x"}}
	if scope != none {
		m.Annotations["bulkhead.dev/node-scoped-resources"] = scope
	}
	return m
}

func accountOf(name, scope string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: meta(name, "u-"+name, scope)}
}

func podOf(name, runsAs, scope string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: meta(name, "u-"+name, scope), Spec: corev1.PodSpec{ServiceAccountName: runsAs}}
}

func names(x *Annotations) string {
	var all []string
	for _, a := range x.Candidates() {
		all = append(all, a.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestObjectsWithAScope(t *testing.T) {
	x := NewAnnotations()
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"an account without", func() { x.SetAccount(accountOf("a", none)) }, ""},
		{"an account with", func() { x.SetAccount(accountOf("a", "pods")) }, "a"},
		{"again", func() { x.SetAccount(accountOf("a", "pods")) }, "a"},
		{"another value", func() { x.SetAccount(accountOf("a", "secrets")) }, "a"},
		{"one that cannot be read", func() { x.SetAccount(accountOf("b", "Pods!")) }, "a b"},
		{"one that is empty", func() { x.SetAccount(accountOf("c", "")) }, "a b c"},
		{"a pod without", func() { x.SetPod(podOf("p", "d", none)) }, "a b c"},
		{"a pod with", func() { x.SetPod(podOf("p", "d", "pods")) }, "a b c d"},
		{"a second one of it", func() { x.SetPod(podOf("q", "d", "??")) }, "a b c d"},
		{"pod without an account", func() { x.SetPod(podOf("r", "", "pods")) }, "a b c d"},
		{"a mirror pod", func() {
			mirror := podOf("r", "e", "pods")
			mirror.Annotations[corev1.MirrorPodAnnotationKey] = "x"
			x.SetPod(mirror)
		}, "a b c d"},
		{"one of them goes", func() { x.DeletePod("ns", "p") }, "a b c d"},
		{"one that is not known", func() { x.DeletePod("ns", "p") }, "a b c d"},
		{"its annotation goes", func() { x.SetPod(podOf("q", "d", none)) }, "a b c"},
		{"another account under its name", func() { x.SetPod(podOf("q", "f", "pods")) }, "a b c f"},
		{"a list without it", func() { x.RetainPods(nil) }, "a b c"},
		{"the account goes", func() { x.DeleteAccount("ns", "a") }, "b c"},
		{"a list", func() {
			x.SetAccount(accountOf("b", none))
			x.SetAccount(accountOf("z", "*"))
			x.RetainAccounts(map[types.NamespacedName]struct{}{
				{Namespace: "ns", Name: "b"}: {}, {Namespace: "ns", Name: "z"}: {},
			})
		}, "z"},
	} {
		step.do()
		if got := names(x); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
	if got := x.UID(types.NamespacedName{Namespace: "ns", Name: "z"}); got != "u-z" {
		t.Errorf("its UID is %q", got)
	}
	if len(x.accounts) != 1 || len(x.pods) != 0 {
		t.Errorf("%v and %v are kept", x.accounts, x.pods)
	}
}

func TestUnread(t *testing.T) {
	x := NewAnnotations()
	x.SetAccount(accountOf("good", "pods"))
	x.SetAccount(accountOf("bad", "Pods"))
	x.SetPod(podOf("bad", "good", "pods,,"))
	x.SetPod(podOf("good", "good", "pods"))
	const prefix = "bulkhead.dev/node-scoped-resources: "
	want := []Unread{
		{"Pod", "ns", "bad", "u-bad", prefix + `"": an entry is empty`},
		{"ServiceAccount", "ns", "bad", "u-bad",
			prefix + `"Pods": want a resource as RBAC names it: pods, pods/- (without subresources), ` +
				`nodes/status, leases.coordination.k8s.io, *.storage.k8s.io or *`},
	}
	if diff := cmp.Diff(want, x.Unread()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	x.SetAccount(accountOf("bad", "pods"))
	x.DeletePod("ns", "bad")
	if got := x.Unread(); got != nil {
		t.Errorf("mended: %v", got)
	}
}

func at[T interface{ SetResourceVersion(string) }](version string, object T) T {
	object.SetResourceVersion(version)
	return object
}

// The version is that of the last change of an annotation. The digest identifies the
// annotations.
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
		// same is true if the digest is equal to that of the step before.
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
		// If versions cannot be compared, the result is a version that no component reports as
		// seen.
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

// The mode of an account counts once a pod of the account has a scope.
func TestAModeCountsForAnAccountOfPods(t *testing.T) {
	x := NewAnnotations()
	sa := accountOf("agent", none)
	x.SetPod(podOf("p", "agent", "pods"))
	without := x.Versions()[types.NamespacedName{Namespace: "ns", Name: "agent"}].Digest
	sa.Annotations["bulkhead.dev/node-scope-mode"] = "audit"
	x.SetAccount(sa)
	if got := x.Versions()[types.NamespacedName{Namespace: "ns", Name: "agent"}].Digest; got == without ||
		names(x) != "agent" {
		t.Errorf("the mode does not count: %q, %q", got, names(x))
	}
	x.DeletePod("ns", "p")
	if names(x) != "" {
		t.Errorf("listed is %q", names(x))
	}
}

// A namespace has a share of values. An object beyond the share is reported with the reason.
func TestValuesOverTheShareAreReported(t *testing.T) {
	x := NewAnnotations()
	for i := range 70 {
		name := string(rune('a'+i/10)) + string(rune('0'+i%10))
		x.SetAccount(accountOf(name, "r-"+name))
	}
	if got := x.Unread(); len(got) != 6 || len(x.Candidates()) != 70 {
		t.Errorf("%d are named: %v", len(got), got)
	}
}
