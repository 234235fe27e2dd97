// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/loadtest"
)

func TestResultLineHasTheMeanAndThePercentiles(t *testing.T) {
	var latencies loadtest.Latencies
	for range 3 {
		if err := latencies.Time(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	got := resultLine("get own Node", "in-tree", 4, 10*time.Microsecond, &latencies)
	want := "BenchmarkThroughAPIServer/call=get-own-Node/subject=in-tree\t4\t2500 ns/op\t0 p50-µs\t0 p99-µs\n"
	if got != want {
		t.Errorf("result is %q, want %q", got, want)
	}
}

func TestCallsAreOfTheOwnNodeAndPod(t *testing.T) {
	objects := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}},
	)
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
	want := []string{"get nodes ", "get nodes ", "get secrets ", "get secrets ", "patch nodes status",
		"patch nodes status", "patch pods status", "patch pods status"}
	if !slices.Equal(made, want) {
		t.Errorf("calls are %q, want %q", made, want)
	}
	// A patch without changes is not stored, and is faster.
	if slices.Sort(patches); len(slices.Compact(patches)) != 4 {
		t.Errorf("two patches are the same: %q", patches)
	}
}
