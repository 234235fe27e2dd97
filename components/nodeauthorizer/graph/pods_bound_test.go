// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestBoundPods(t *testing.T) {
	for _, mode := range []rules.Mode{rules.Off, rules.Audit, rules.Enforce} {
		g := New(Options{Ended: mode, Unusable: mode, Unowned: mode})
		pod := func(name, uid, node string) *corev1.Pod {
			return &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)},
				Spec:       corev1.PodSpec{NodeName: node, ServiceAccountName: "account-of-" + name},
			}
		}
		expect := func(name string, want BoundPod) {
			t.Helper()
			got, known := g.BoundPod("ns", name)
			if got != want || known != (want != BoundPod{}) {
				t.Errorf("%v: %s is %+v, %v, want %+v", mode, name, got, known, want)
			}
		}
		mirror := pod("mirror", "2", "n")
		mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		for _, p := range []*corev1.Pod{pod("p", "1", "n"), mirror, pod("pending", "3", "")} {
			g.SetPod(p)
		}
		expect("p", BoundPod{"1", "n", "account-of-p"})
		expect("mirror", BoundPod{"2", "n", ""})
		expect("pending", BoundPod{})
		expect("absent", BoundPod{})
		if _, known := g.BoundPod("other", "p"); known {
			t.Error("a pod of another namespace is known")
		}
		g.EndPod("ns", "p", "1")
		expect("p", BoundPod{"1", "n", "account-of-p"})
		g.SetPod(pod("p", "4", "other"))
		expect("p", BoundPod{"4", "other", "account-of-p"})
		g.DeletePod("ns", "p")
		expect("p", BoundPod{})
	}
}
