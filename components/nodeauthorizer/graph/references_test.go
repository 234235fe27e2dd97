// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodReferencesAreThoseOfTheGraph(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"},
		Spec: corev1.PodSpec{
			NodeName: "a", ServiceAccountName: "sa",
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "s"}},
			Volumes: []corev1.Volume{
				{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
				{Name: "e", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
			},
		},
	}
	want := []Reference{{ServiceAccount, "n", "sa"}, {Secret, "n", "s"}, {PersistentVolumeClaim, "n", "p-e"}}
	if diff := cmp.Diff(want, PodReferences(pod)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	g := New(Options{})
	g.SetPod(pod)
	for _, r := range want {
		if !g.Reaches("a", r.Kind, r.Namespace, r.Name) {
			t.Errorf("the graph does not relate %v", r)
		}
	}
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	if got := PodReferences(pod); len(got) > 0 {
		t.Errorf("a mirror pod: %v", got)
	}
}

func TestVolumeReferencesAreSecrets(t *testing.T) {
	ref := &corev1.SecretReference{Namespace: "n", Name: "s"}
	volume := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
			NodePublishSecretRef: ref, NodeStageSecretRef: ref,
			ControllerPublishSecretRef: &corev1.SecretReference{Namespace: "n", Name: "controller"},
		}},
	}}
	if diff := cmp.Diff([]Reference{{Secret, "n", "s"}}, VolumeReferences(volume)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNodeOf(t *testing.T) {
	g := New(Options{})
	for pod, node := range map[string]string{"p": "a", "q": "a", "other": "b"} {
		g.SetPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: pod}, Spec: corev1.PodSpec{
			NodeName: node, ServiceAccountName: "account-" + pod,
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "everywhere"}},
		}})
	}
	for name, tc := range map[string]struct {
		asked Reference
		want  string
	}{
		"one pod":         {Reference{ServiceAccount, "n", "account-q"}, "a"},
		"one pod of b":    {Reference{ServiceAccount, "n", "account-other"}, "b"},
		"pods of a and b": {Reference{Secret, "n", "everywhere"}, ""},
		"no pod":          {Reference{Secret, "n", "unused"}, ""},
	} {
		if got := g.NodeOf(tc.asked); got != tc.want {
			t.Errorf("%s: node %q, want %q", name, got, tc.want)
		}
	}
}
