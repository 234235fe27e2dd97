// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

func metaOf(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// everything has a pod on node a that uses an object of each kind, and objects of node a.
func everything() []runtime.Object {
	claim, node := "dev", "a"
	return []runtime.Object{
		&corev1.Pod{ObjectMeta: metaOf("n", "p"), Spec: corev1.PodSpec{NodeName: "a", ServiceAccountName: "sa",
			ResourceClaims: []corev1.PodResourceClaim{{Name: "d", ResourceClaimName: &claim}},
			Volumes: []corev1.Volume{
				{Name: "c", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}}},
				{Name: "d", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
					ClaimName: "data"}}},
				{Name: "t", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}}}}},
			}}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metaOf("n", "data")},
		&corev1.PersistentVolume{ObjectMeta: metaOf("", "pv"), Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "n", Name: "data"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				NodePublishSecretRef: &corev1.SecretReference{Namespace: "storage", Name: "key"}}}}},
		&storagev1.VolumeAttachment{ObjectMeta: metaOf("", "va"), Spec: storagev1.VolumeAttachmentSpec{NodeName: "a"}},
		&resourcev1.ResourceSlice{ObjectMeta: metaOf("", "slice"), Spec: resourcev1.ResourceSliceSpec{NodeName: &node}},
		&certificatesv1.PodCertificateRequest{ObjectMeta: metaOf("n", "pcr"),
			Spec: certificatesv1.PodCertificateRequestSpec{NodeName: "a"}},
		&certificatesv1.CertificateSigningRequest{ObjectMeta: metaOf("", "csr"),
			Spec: certificatesv1.CertificateSigningRequestSpec{Username: "system:node:a"}},
	}
}

// TestPathOfEachKind: the object is related to node a, and not to node b.
func TestPathOfEachKind(t *testing.T) {
	client := fake.NewClientset(everything()...)
	for _, row := range []struct{ group, resource, subresource, namespace, name, want string }{
		{"", "configmaps", "", "n", "cm", "node a <- pod n/p <- configmap n/cm"},
		{"", "serviceaccounts", "token", "n", "sa", "node a <- pod n/p <- serviceaccount n/sa"},
		{"", "persistentvolumeclaims", "", "n", "data", "node a <- pod n/p <- persistentvolumeclaim n/data"},
		{"", "persistentvolumeclaims", "status", "n", "data", "node a <- pod n/p <- persistentvolumeclaim n/data"},
		{"", "persistentvolumes", "", "", "pv",
			"node a <- pod n/p <- persistentvolumeclaim n/data <- persistentvolume pv"},
		{"", "secrets", "", "storage", "key",
			"node a <- pod n/p <- persistentvolumeclaim n/data <- persistentvolume pv <- secret storage/key"},
		{"resource.k8s.io", "resourceclaims", "", "n", "dev", "node a <- pod n/p <- resourceclaim n/dev"},
		{"resource.k8s.io", "resourceslices", "", "", "slice", "node a <- resourceslice slice"},
		{"storage.k8s.io", "volumeattachments", "", "", "va", "node a <- volumeattachment va"},
		{"certificates.k8s.io", "podcertificaterequests", "", "n", "pcr", "node a <- podcertificaterequest n/pcr"},
		{"certificates.k8s.io", "certificatesigningrequests", "", "", "csr", "node a <- certificatesigningrequest csr"},
		{"", "pods", "", "n", "p", "node a <- pod n/p"},
	} {
		r := &Request{Verb: "get", Group: row.group, Resource: row.resource, Subresource: row.subresource,
			Namespace: row.namespace, Name: row.name}
		if row.subresource == "token" {
			r.Verb = "create"
		}
		o, ok := objectOf(r)
		if !ok {
			t.Errorf("%s has no relation", row.resource)
			continue
		}
		here := findPath(context.Background(), client, "a", o)
		if !here.Related || len(here.Here) != 1 || here.Here[0] != row.want || here.Missing != "" || here.OnlyWithout != "" {
			t.Errorf("%s: %+v, want %s", row.resource, here, row.want)
		}
		there := findPath(context.Background(), client, "b", o)
		if there.Related || len(there.Elsewhere) != 1 || there.Elsewhere[0] != row.want || there.Missing == "" {
			t.Errorf("%s on another node: %+v", row.resource, there)
		}
		r.Name = "absent"
		o, _ = objectOf(r)
		absent := findPath(context.Background(), client, "a", o)
		if absent.Related || absent.Missing == "" || absent.Unknown != "" {
			t.Errorf("%s that does not exist: %+v", row.resource, absent)
		}
	}
}

func TestRequestsWithoutARelation(t *testing.T) {
	for _, r := range []Request{
		{Verb: "list", Resource: "secrets", Namespace: "n"},
		{Verb: "create", Resource: "pods", Namespace: "n", Name: "p"},
		{Verb: "get", Resource: "nodes", Name: "a"},
		{Verb: "get", Resource: "pods", Subresource: "log", Namespace: "n", Name: "p"},
		{Verb: "update", Resource: "pods", Subresource: "status", Namespace: "n", Name: "p"},
		{Verb: "get", Resource: "secrets", Group: "example.com", Namespace: "n", Name: "p"},
		{Verb: "get", Path: "/healthz"},
	} {
		if o, ok := objectOf(&r); ok {
			t.Errorf("%s has %v", r.String(), o)
		}
	}
}

// TestAnUnownedClaimIsARule: the pod does not own the claim of its ephemeral volume.
func TestAnUnownedClaimIsARule(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "1"}, Spec: corev1.PodSpec{
		NodeName: "a", Volumes: []corev1.Volume{{Name: "v",
			VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metaOf("n", "p-v")}
	o, _ := objectOf(&Request{Verb: "get", Resource: "persistentvolumeclaims", Namespace: "n", Name: "p-v"})
	p := findPath(context.Background(), fake.NewClientset(pod, claim), "a", o)
	if p.OnlyWithout != "NA-PVC-3" || !p.Related {
		t.Errorf("unowned: %+v", p)
	}
	yes := true
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "1", Controller: &yes}}
	p = findPath(context.Background(), fake.NewClientset(pod, claim), "a", o)
	if p.OnlyWithout != "" || !p.Related {
		t.Errorf("owned: %+v", p)
	}
}

func TestManyPathsAreCounted(t *testing.T) {
	var objects []runtime.Object
	for i := range 9 {
		objects = append(objects, podOf("p"+string(rune('0'+i)), "worker-1"))
	}
	o, _ := objectOf(&Request{Verb: "get", Resource: "secrets", Namespace: "default", Name: "tls"})
	p := findPath(context.Background(), fake.NewClientset(objects...), "worker-1", o)
	if len(p.Here) != shownPaths || p.More != 4 {
		t.Errorf("%+v", p)
	}
	var b strings.Builder
	p.print(&b)
	if !strings.Contains(b.String(), "4 more paths") {
		t.Errorf("got %s", b.String())
	}
}
