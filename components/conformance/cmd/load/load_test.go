// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestPageHasTheMediansOfTheTurns(t *testing.T) {
	var all []sample
	for _, ms := range []time.Duration{3, 1, 2} {
		all = append(all,
			sample{"get own Node", 4, "in-tree", ms * time.Millisecond, 10 * ms * time.Millisecond, time.Millisecond},
			sample{"get own Node", 4, "hardened", 2 * ms * time.Millisecond, 15 * ms * time.Millisecond, 2 * time.Millisecond})
	}
	want := "| get own Node | 4 | 2000 µs | 4000 µs | 2.00 | 1.50 | 0.50 |\n"
	if got := page(all, 3, 4); !strings.HasSuffix(got, "|---|\n"+want) {
		t.Errorf("page is\n%s\nwant the row %q", got, want)
	}
}

func TestCallsAreOfTheOwnNodeAndPod(t *testing.T) {
	objects := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default"}},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: "worker"}},
	)
	// The fake API server looks for an object with the name in the request, which has none.
	objects.PrependReactor("create", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.TokenRequest{}, nil
	})
	w := &workload{node: "worker", namespace: "ns"}
	for _, call := range w.calls(objects) {
		for range 2 {
			if err := call.make(t.Context()); err != nil {
				t.Errorf("%s: %v", call.name, err)
			}
		}
	}
	var made, patches []string
	for _, action := range objects.Actions() {
		resource := action.GetVerb() + " " + action.GetResource().Resource + " " + action.GetSubresource()
		made = append(made, resource)
		if patch, ok := action.(clienttesting.PatchAction); ok {
			patches = append(patches, string(patch.GetPatch()))
		}
	}
	var want []string
	for _, call := range []string{"get nodes ", "get leases ", "get pods ", "get secrets ", "create serviceaccounts token",
		"patch leases ", "patch nodes status", "patch pods status", "create events ", "patch events "} {
		want = append(want, call, call)
	}
	if !slices.Equal(made, want) {
		t.Errorf("calls are %q, want %q", made, want)
	}
	// A patch without changes is not stored, and is faster.
	if slices.Sort(patches); len(slices.Compact(patches)) != 8 {
		t.Errorf("two patches are the same: %q", patches)
	}
}
