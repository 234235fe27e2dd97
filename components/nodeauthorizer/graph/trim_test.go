// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// everything is metadata with more fields than those that identify the object.
func everything(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: "ns", UID: "uid", ResourceVersion: "7",
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"f"},
	}
}

func identifying(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "uid", ResourceVersion: "7"}
}

func TestTrimNode(t *testing.T) {
	node := &corev1.Node{ObjectMeta: everything("n1")}
	node.Spec.PodCIDR = "10.0.0.0/24"
	node.Status.Images = []corev1.ContainerImage{{Names: []string{"i"}}}
	TrimNode(node)
	if diff := gocmp.Diff(&corev1.Node{ObjectMeta: identifying("n1")}, node); diff != "" {
		t.Errorf("TrimNode (-want +got):\n%s", diff)
	}
}

func TestTrimPersistentVolumeClaim(t *testing.T) {
	owner := claimOf("pod", "uid", "pvc").OwnerReferences[0]
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "d"}
	for _, row := range []struct {
		name         string
		owners, want []metav1.OwnerReference
	}{
		{"the controlling pod is kept", []metav1.OwnerReference{other, owner}, []metav1.OwnerReference{owner}},
		{"no other owner is", []metav1.OwnerReference{other}, nil},
		{"no owner reference", nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: everything("pvc")}
			claim.OwnerReferences = row.owners
			claim.Spec.VolumeName = "pv"
			claim.Status.Phase = corev1.ClaimBound
			TrimPersistentVolumeClaim(claim)
			want := &corev1.PersistentVolumeClaim{ObjectMeta: identifying("pvc")}
			want.OwnerReferences = row.want
			if diff := gocmp.Diff(want, claim); diff != "" {
				t.Errorf("TrimPersistentVolumeClaim (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrimCertificateSigningRequest(t *testing.T) {
	request := &certificatesv1.CertificateSigningRequest{ObjectMeta: everything("csr")}
	request.Spec = certificatesv1.CertificateSigningRequestSpec{Username: "system:node:n1", Groups: []string{"g"},
		Request: []byte("r")}
	request.Status.Certificate = []byte("c")
	TrimCertificateSigningRequest(request)
	want := &certificatesv1.CertificateSigningRequest{ObjectMeta: identifying("csr")}
	want.Spec.Username = "system:node:n1"
	if diff := gocmp.Diff(want, request); diff != "" {
		t.Errorf("TrimCertificateSigningRequest (-want +got):\n%s", diff)
	}
}
