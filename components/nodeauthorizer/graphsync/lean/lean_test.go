// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lean

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// eventOf is an event as an API server sends it, with these bytes as the object.
func eventOf(t testing.TB, apiVersion, kind string, object []byte) []byte {
	t.Helper()
	described := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: object}
	raw, err := described.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	event := metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: append([]byte("k8s\x00"), raw...)}}
	if raw, err = event.Marshal(); err != nil {
		t.Fatal(err)
	}
	return raw
}

// decode decodes an event as client-go and then graphsync do.
func decode(data []byte, own Kind) (*metav1.WatchEvent, runtime.Object, error) {
	var events runtime.Serializer = protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)
	if own.event != nil {
		events = &eventSerializer{Serializer: events, kind: own}
	}
	var event metav1.WatchEvent
	if _, _, err := events.Decode(data, nil, &event); err != nil {
		return nil, nil, err
	}
	object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), event.Object.Raw)
	return &event, object, err
}

type protobufObject interface {
	runtime.Object
	Marshal() ([]byte, error)
}

func meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "7", Labels: map[string]string{"a": "b"},
		Finalizers:    []string{"f"},
		Annotations:   map[string]string{"long": string(make([]byte, 300))},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1("{}")}},
	}
}

func leanMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "7"}
}

// For each kind, every used field stays, and all other fields are removed.
func TestDecodedFieldsStay(t *testing.T) {
	node, yes := "node", true
	marked := meta()
	marked.Annotations[corev1.MirrorPodAnnotationKey] = "yes"
	leanMarked := leanMeta()
	leanMarked.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "yes"}
	scoped, leanScoped := meta(), leanMeta()
	scoped.Annotations["bulkhead.dev/node-scoped-resources"] = "pods"
	leanScoped.Annotations = map[string]string{"bulkhead.dev/node-scoped-resources": "pods"}
	listed := metav1.ObjectMeta{ResourceVersion: "8",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}
	owned, leanOwned := meta(), leanMeta()
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u", Controller: &yes}}
	leanOwned.OwnerReferences = owned.OwnerReferences
	fromSecret := corev1.EnvVar{Name: "E",
		ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}}
	source := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d",
		NodeStageSecretRef: &corev1.SecretReference{Name: "s"}}}
	volumes := []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}}}

	for _, tc := range []struct {
		name       string
		own        Kind
		full, want protobufObject
	}{
		{
			"a pod", Pods,
			&corev1.Pod{
				ObjectMeta: meta(),
				Spec: corev1.PodSpec{
					NodeName: node, ServiceAccountName: "a", Volumes: volumes, Hostname: "h",
					InitContainers: []corev1.Container{{Name: "nothing", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}},
					Containers: []corev1.Container{{Name: "c", Image: "i",
						Env: []corev1.EnvVar{{Name: "A", Value: "b"}, fromSecret}}},
					EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
						Name: "e", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{}}},
					}}},
				},
				Status: corev1.PodStatus{Phase: corev1.PodFailed, HostIP: "h"},
			},
			&corev1.Pod{
				ObjectMeta: leanMeta(),
				Spec: corev1.PodSpec{
					NodeName: node, ServiceAccountName: "a", Volumes: volumes,
					Containers: []corev1.Container{{Env: []corev1.EnvVar{fromSecret}}},
					EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
						EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{}}},
					}}},
				},
				Status: corev1.PodStatus{Phase: corev1.PodFailed},
			},
		},
		{"a mirror pod", Pods, &corev1.Pod{ObjectMeta: marked}, &corev1.Pod{ObjectMeta: leanMarked}},
		{"a pod that is limited to its node", Pods, &corev1.Pod{ObjectMeta: scoped}, &corev1.Pod{ObjectMeta: leanScoped}},
		{
			"a pod of an account", PodsOfAccounts,
			&corev1.Pod{ObjectMeta: scoped, Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: "a", Volumes: volumes}},
			&corev1.Pod{ObjectMeta: leanScoped, Spec: corev1.PodSpec{ServiceAccountName: "a"}},
		},
		{"an account", ServiceAccounts,
			&corev1.ServiceAccount{ObjectMeta: scoped, Secrets: []corev1.ObjectReference{{Name: "s"}}},
			&corev1.ServiceAccount{ObjectMeta: leanScoped}},
		{"the end of a list", Pods, &corev1.Pod{ObjectMeta: listed}, &corev1.Pod{ObjectMeta: listed}},
		{
			"a volume", PersistentVolumes,
			&corev1.PersistentVolume{ObjectMeta: meta(), Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: source, ClaimRef: &corev1.ObjectReference{Name: "c"}, StorageClassName: "s",
			}},
			&corev1.PersistentVolume{ObjectMeta: leanMeta(), Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: source, ClaimRef: &corev1.ObjectReference{Name: "c"},
			}},
		},
		{
			"a claim", PersistentVolumeClaims,
			&corev1.PersistentVolumeClaim{ObjectMeta: owned, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v"}},
			&corev1.PersistentVolumeClaim{ObjectMeta: leanOwned},
		},
		{"a node", Nodes, &corev1.Node{ObjectMeta: meta(), Spec: corev1.NodeSpec{PodCIDR: "p"}},
			&corev1.Node{ObjectMeta: leanMeta()}},
		{
			"an attachment", VolumeAttachments,
			&storagev1.VolumeAttachment{ObjectMeta: meta(), Spec: storagev1.VolumeAttachmentSpec{NodeName: node, Attacher: "a"}},
			&storagev1.VolumeAttachment{ObjectMeta: leanMeta(), Spec: storagev1.VolumeAttachmentSpec{NodeName: node}},
		},
		{
			"a slice", ResourceSlices,
			&resourcev1.ResourceSlice{ObjectMeta: meta(), Spec: resourcev1.ResourceSliceSpec{NodeName: &node, Driver: "d"}},
			&resourcev1.ResourceSlice{ObjectMeta: leanMeta(), Spec: resourcev1.ResourceSliceSpec{NodeName: &node}},
		},
		{
			"a request of a pod", PodCertificateRequests,
			&certificatesv1.PodCertificateRequest{ObjectMeta: meta(),
				Spec: certificatesv1.PodCertificateRequestSpec{NodeName: "node", PodName: "p"}},
			&certificatesv1.PodCertificateRequest{ObjectMeta: leanMeta(),
				Spec: certificatesv1.PodCertificateRequestSpec{NodeName: "node"}},
		},
		{
			"a request", CertificateSigningRequests,
			&certificatesv1.CertificateSigningRequest{ObjectMeta: meta(),
				Spec: certificatesv1.CertificateSigningRequestSpec{Username: "u", UID: "x"}},
			&certificatesv1.CertificateSigningRequest{ObjectMeta: leanMeta(),
				Spec: certificatesv1.CertificateSigningRequestSpec{Username: "u"}},
		},
		{"an error", Pods, &metav1.Status{Code: 410, Message: "too old"}, &metav1.Status{Code: 410, Message: "too old"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			raw, err := tc.full.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			kinds, _, err := scheme.Scheme.ObjectKinds(tc.full)
			if err != nil {
				t.Fatal(err)
			}
			apiVersion, kind := kinds[0].ToAPIVersionAndKind()
			event, got, err := decode(eventOf(t, apiVersion, kind, raw), tc.own)
			if err != nil {
				t.Fatal(err)
			}
			if event.Type != "ADDED" {
				t.Errorf("type %q", event.Type)
			}
			tc.want.GetObjectKind().SetGroupVersionKind(kinds[0])
			if diff := cmp.Diff(runtime.Object(tc.want), got); diff != "" {
				t.Errorf("decoded (-want +got)\n%s", diff)
			}
		})
	}
}

// If a message contains two TypeMetas, the last one counts, as in the API's decoder.
func TestTheLastDescriptionCounts(t *testing.T) {
	raw, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, last := range []string{"Pod", "Node"} {
		again, err := (&runtime.TypeMeta{APIVersion: "v1", Kind: last}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		object := slices.Concat([]byte("k8s\x00"), raw, []byte{1<<3 | counted, byte(len(again))}, again)
		event, err := (&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: object}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		for name, own := range map[string]Kind{"whole": {}, "lean": Pods} {
			_, got, err := decode(event, own)
			if err != nil {
				t.Fatalf("%s, last a %s: %v", name, last, err)
			}
			if kind := got.GetObjectKind().GroupVersionKind().Kind; kind != last {
				t.Errorf("%s: a %s, want a %s", name, kind, last)
			}
		}
	}
}
