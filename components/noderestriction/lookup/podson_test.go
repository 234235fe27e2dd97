// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podList(t *testing.T, next string, pods ...corev1.Pod) string {
	t.Helper()
	return object(t, corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"},
		ListMeta: metav1.ListMeta{Continue: next}, Items: pods})
}

func podWithVolume(name string, created time.Time) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "u", CreationTimestamp: metav1.NewTime(created),
			Labels: map[string]string{"a": "b"}},
		Spec: corev1.PodSpec{NodeName: "me", Volumes: []corev1.Volume{
			{Name: "v"},
			{Name: "local", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}},
	}
}

func TestPodsOn(t *testing.T) {
	w := newWorld(t, &api{answer: func(asked string) string {
		if strings.Contains(asked, "continue=2") {
			return podList(t, "", podWithVolume("new", start.Add(time.Hour)))
		}
		return podList(t, "2", podWithVolume("old", start))
	}})
	pods, err := w.PodsOn(context.Background(), "me")
	if err != nil || len(pods) != 2 || pods[0].Name != "new" || pods[1].Name != "old" {
		t.Fatalf("%v, %v; want the newest first", pods, err)
	}
	if pod := pods[0]; pod.UID != "u" || len(pod.Spec.Volumes) != 1 || pod.Labels != nil {
		t.Errorf("kept %+v", pod)
	}
	const want = "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dme%2Cstatus.phase%21%3DFailed" +
		"%2Cstatus.phase%21%3DSucceeded&limit=5"
	if asked := w.api.requests(); len(asked) != 2 || asked[0] != want {
		t.Errorf("asked %q", asked)
	}
}

func TestPodsOnAreUnknown(t *testing.T) {
	many := make([]corev1.Pod, podPage)
	for name, answer := range map[string]string{
		"forbidden": "403", "not found": "404", "too many": podList(t, "more", many...), "empty pages": podList(t, "more"),
	} {
		w := newWorld(t, answers(answer))
		if pods, err := w.PodsOn(context.Background(), "me"); err == nil {
			t.Errorf("%s: %d pods", name, len(pods))
		} else if !strings.HasPrefix(err.Error(), "cannot look up the pods of the node: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Any user who may create pods can bind a pod with 40,000 volumes to a node.
func TestPodsOnKeepLittleOfALargePod(t *testing.T) {
	large := podWithVolume("large", start)
	for range 10 * maxVolumesOf {
		large.Spec.Volumes = append(large.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"},
		}})
	}
	w := newWorld(t, answers(podList(t, "", large)))
	pods, err := w.PodsOn(context.Background(), "me")
	if err != nil || len(pods) != 1 || len(pods[0].Spec.Volumes) != maxVolumesOf {
		t.Errorf("%d pods, %v; want one with %d volumes", len(pods), err, maxVolumesOf)
	}
}
