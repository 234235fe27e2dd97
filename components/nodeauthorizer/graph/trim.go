// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// onlyIdentity keeps what says which object this is, and which version of it.
func onlyIdentity(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            meta.Name,
		Namespace:       meta.Namespace,
		UID:             meta.UID,
		ResourceVersion: meta.ResourceVersion,
	}
}

// TrimNode drops, in place, what [Graph.SetNode] does not read.
func TrimNode(node *corev1.Node) {
	*node = corev1.Node{ObjectMeta: onlyIdentity(&node.ObjectMeta)}
}

// TrimPersistentVolumeClaim drops, in place, what
// [Graph.SetPersistentVolumeClaim] does not read.
func TrimPersistentVolumeClaim(claim *corev1.PersistentVolumeClaim) {
	owner := controllingPod(claim)
	*claim = corev1.PersistentVolumeClaim{ObjectMeta: onlyIdentity(&claim.ObjectMeta)}
	if owner != nil {
		claim.OwnerReferences = []metav1.OwnerReference{*owner}
	}
}

// TrimCertificateSigningRequest drops, in place, what
// [Graph.SetCertificateSigningRequest] does not read.
func TrimCertificateSigningRequest(request *certificatesv1.CertificateSigningRequest) {
	user := request.Spec.Username
	*request = certificatesv1.CertificateSigningRequest{ObjectMeta: onlyIdentity(&request.ObjectMeta)}
	request.Spec.Username = user
}
