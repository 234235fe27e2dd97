// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func podNamed(name string, uid types.UID, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: uid},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

func TestBoundTo(t *testing.T) {
	for _, tt := range []struct {
		name string
		pod  *corev1.Pod
		uid  types.UID
		want string
		// found is false for a 404. again is true if the API server receives a second request.
		found, again bool
	}{
		{"a pod is bound once and for all", podNamed("p", "1", "a"), "1", "a", true, false},
		{"a pod that is not bound may yet be", podNamed("p", "1", ""), "1", "", true, true},
		{"another pod of that name is another pod", podNamed("p", "2", "a"), "1", "", false, true},
		{"without a UID no pod is meant", podNamed("p", "", "a"), "", "", false, true},
		{"no pod", nil, "1", "", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := "404"
			if tt.pod != nil {
				answer = object(t, tt.pod)
			}
			w := newWorld(t, answers(answer))
			for round, want := range []bool{true, tt.again} {
				node, err := w.BoundTo(t.Context(), "n", "p", tt.uid)
				if node != tt.want || (err == nil) != tt.found || err != nil && !apierrors.IsNotFound(err) {
					t.Errorf("round %d: %q, %v", round, node, err)
				}
				if asked := w.api.requests(); (len(asked) == 1) != want {
					t.Errorf("round %d: asked %q", round, asked)
				}
			}
		})
	}
}

// A pod that was read for another reason is cached too, and the answer remains after the pod is
// deleted. A pod with a different namespace, name or UID is a different pod.
func TestAPodThatWasSeenIsRemembered(t *testing.T) {
	gone := false
	w := newWorld(t, &api{answer: func(string) string {
		if gone {
			return "404"
		}
		return object(t, podNamed("p", "1", "a"))
	}})
	if _, err := w.Pod(t.Context(), "n", "p"); err != nil {
		t.Fatal(err)
	}
	gone = true
	if node, err := w.BoundTo(t.Context(), "n", "p", "1"); node != "a" || err != nil {
		t.Errorf("%q, %v", node, err)
	}
	for _, other := range []podIdentity{{"m", "p", "1"}, {"n", "q", "1"}, {"n", "p", "2"}, {"n", "p", ""}} {
		if node, err := w.BoundTo(t.Context(), other.namespace, other.name, other.uid); node != "" ||
			!apierrors.IsNotFound(err) {
			t.Errorf("%+v: %q, %v", other, node, err)
		}
	}
	if _, err := w.Pod(t.Context(), "n", "p"); !apierrors.IsNotFound(err) {
		t.Errorf("a pod that is gone is read: %v", err)
	}
}

func TestABrokenAPIServerBindsNothing(t *testing.T) {
	w := newWorld(t, answers("500"))
	if node, err := w.BoundTo(t.Context(), "n", "p", "1"); node != "" || err == nil || apierrors.IsNotFound(err) {
		t.Errorf("%q, %v", node, err)
	}
}

// The package documentation says how much memory 50,000 pods take. The names have the length of the
// names of a Deployment's pods.
func TestPodCacheMemoryIsBounded(t *testing.T) {
	b := newBound()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range MaxBound + 1000 {
		b.see(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: fmt.Sprintf("some-namespace-%04d", i%1000),
				Name:      fmt.Sprintf("some-deployment-7d4b9c6f5d-%05d", i),
				UID:       types.UID(fmt.Sprintf("d0bb3f5c-0000-4000-8000-%012d", i)),
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%04d.example.com", i%5000)},
		})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := b.pods.Len(); n != MaxBound {
		t.Errorf("%d pods, want %d", n, MaxBound)
	}
	took := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
	t.Logf("%d pods take %d MiB", MaxBound, took)
	if took > 20 {
		t.Errorf("%d MiB", took)
	}
	runtime.KeepAlive(b)
}

func TestACSIDriverMayBeAFewSecondsOld(t *testing.T) {
	w := newWorld(t, answers(`{"metadata":{"name":"d"}}`))
	for _, step := range []struct {
		name  string
		after time.Duration
		want  int
	}{
		{"at first it is read", 0, 1},
		{"then it is remembered", driverAge - time.Millisecond, 0},
		{"and read again", 2 * time.Millisecond, 1},
	} {
		w.clock.SetTime(w.clock.Now().Add(step.after))
		if driver, err := w.CSIDriver(t.Context(), "d"); err != nil || driver.Name != "d" {
			t.Errorf("%s: %v, %v", step.name, driver, err)
		}
		if asked := w.api.requests(); len(asked) != step.want {
			t.Errorf("%s: asked %q", step.name, asked)
		}
	}
}

func TestMissingCSIDriverIsNotCached(t *testing.T) {
	w := newWorld(t, answers("404"))
	for range 2 {
		if _, err := w.CSIDriver(t.Context(), "d"); !apierrors.IsNotFound(err) {
			t.Errorf("error %v", err)
		}
	}
	if asked := strings.Join(w.api.requests(), " "); strings.Count(asked, "csidrivers/d") != 2 {
		t.Errorf("asked %s", asked)
	}
}
