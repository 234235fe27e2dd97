// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lean

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// podWithAll has a value in every used field, and in an unused field next to each of them.
func podWithAll() *corev1.Pod {
	claim := "claim"
	container := corev1.Container{
		Name: "c", Image: "i", Args: []string{"a", "b"}, Ports: []corev1.ContainerPort{{ContainerPort: 80}},
		EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "s1"}}}},
		Env: []corev1.EnvVar{
			{Name: "PLAIN", Value: "value"},
			{Name: "KEY", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "k"}}},
			{Name: "FIELD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "p"}}},
		},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
	}
	pod := &corev1.Pod{ObjectMeta: meta(), Spec: corev1.PodSpec{
		NodeName: "node", ServiceAccountName: "account", DeprecatedServiceAccount: "account", Hostname: "h",
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "s2"}},
		InitContainers:   []corev1.Container{container, {Name: "empty"}},
		Containers:       []corev1.Container{container, container},
		EphemeralContainers: []corev1.EphemeralContainer{
			{EphemeralContainerCommon: corev1.EphemeralContainerCommon(container), TargetContainerName: "c"}, {},
		},
		Volumes: []corev1.Volume{
			{Name: "v1", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s3"}}},
			{Name: "v2", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "v3", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		},
		ResourceClaims: []corev1.PodResourceClaim{{Name: "r", ResourceClaimName: &claim}},
		Tolerations:    []corev1.Toleration{{Key: "t"}},
	}, Status: corev1.PodStatus{
		Phase: corev1.PodSucceeded, Message: "m", ContainerStatuses: []corev1.ContainerStatus{{Name: "c"}},
		ResourceClaimStatuses:       []corev1.PodResourceClaimStatus{{Name: "r", ResourceClaimName: &claim}},
		ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: claim},
	}}
	pod.Annotations[corev1.MirrorPodAnnotationKey] = "yes"
	return pod
}

// FuzzPod checks that a fully decoded pod and a pod without the unused fields are equal in
// everything that the graph reads.
func FuzzPod(f *testing.F) {
	for _, pod := range []*corev1.Pod{
		podWithAll(), {}, {ObjectMeta: meta()},
		{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: strings.Repeat("long", 5000)}}}},
		{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"x": corev1.MirrorPodAnnotationKey, "": ""}}},
	} {
		raw, err := pod.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		// The decoder merges a second pod in the same bytes into the first.
		f.Add(append(raw, raw...))
	}
	f.Add([]byte("\x12\x83\x00\x52\x01n"))                // a length with more bytes than necessary
	f.Add([]byte("\x92\x80\x80\x80\x10\x02\x52\x00"))     // a field number beyond 32 bits
	f.Add([]byte("\x13\x12\x02\x52\x00\x14"))             // a group
	f.Add([]byte("\x08\x01"))                             // a number instead of the metadata
	f.Add([]byte("\x12\x04\x12\x02\x3a\x00\x0d\x00\x00")) // truncated
	f.Fuzz(func(t *testing.T, object []byte) {
		event := eventOf(t, "v1", "Pod", object)
		_, full, err := decode(event, Kind{})
		if err != nil {
			// Unused fields are not checked, so the result may differ.
			_, _, _ = decode(event, Pods)
			return
		}
		_, lean, err := decode(event, Pods)
		if err != nil {
			t.Fatalf("refused what is a pod: %v", err)
		}
		if diff := cmp.Diff(read(t, full), read(t, lean)); diff != "" {
			t.Errorf("(-full +lean)\n%s", diff)
		}
	})
}

// usedOfPod is what the graph and graphsync read of a pod.
type usedOfPod struct {
	Name, Namespace, UID, ResourceVersion, Node, Account, Mirror string
	IsMirror                                                     bool
	Phase                                                        corev1.PodPhase
	Volumes                                                      []corev1.Volume
	References                                                   []graph.Reference
}

func read(t *testing.T, object runtime.Object) usedOfPod {
	t.Helper()
	pod, ok := object.(*corev1.Pod)
	if !ok {
		t.Fatalf("a %T", object)
	}
	used := usedOfPod{
		Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID), ResourceVersion: pod.ResourceVersion,
		Node: pod.Spec.NodeName, Account: pod.Spec.ServiceAccountName, Phase: pod.Status.Phase, Volumes: pod.Spec.Volumes,
	}
	used.Mirror, used.IsMirror = pod.Annotations[corev1.MirrorPodAnnotationKey]
	// A mirror pod has no references, but its fields must stay too.
	delete(pod.Annotations, corev1.MirrorPodAnnotationKey)
	used.References = graph.PodReferences(pod)
	return used
}

// FuzzEvent checks that every event that the standard decoder accepts is also accepted here, with
// the same type.
func FuzzEvent(f *testing.F) {
	raw, err := podWithAll().Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(eventOf(f, "v1", "Pod", raw))
	f.Add(eventOf(f, "v1", "Status", nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		full, _, err := decode(data, Kind{})
		if err != nil {
			_, _, _ = decode(data, Pods)
			return
		}
		lean, _, err := decode(data, Pods)
		if err != nil {
			t.Fatalf("refused what is an event: %v", err)
		}
		if lean.Type != full.Type {
			t.Errorf("type %q became %q", full.Type, lean.Type)
		}
	})
}
