// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// nothing is a write that has the type of its object and no object.
type nothing struct {
	resource, subresource, namespace string
	object                           runtime.Object
}

func nothings() []nothing {
	return []nothing{
		{"pods", "", "default", (*corev1.Pod)(nil)},
		{"pods", "status", "default", (*corev1.Pod)(nil)},
		{"pods", "eviction", "default", (*policyv1.Eviction)(nil)},
		{"nodes", "", "", (*corev1.Node)(nil)},
		{"nodes", "status", "", (*corev1.Node)(nil)},
		{"persistentvolumeclaims", "status", "default", (*corev1.PersistentVolumeClaim)(nil)},
		{"serviceaccounts", "token", "default", (*authenticationv1.TokenRequest)(nil)},
		{"events", "", "default", (*corev1.Event)(nil)},
		{"events.events.k8s.io", "", "default", (*eventsv1.Event)(nil)},
		{"leases", "", "kube-node-lease", (*coordinationv1.Lease)(nil)},
		{"csinodes", "", "", (*storagev1.CSINode)(nil)},
		{"csinodes", "status", "", (*storagev1.CSINode)(nil)},
		{"resourceslices", "", "", (*resourcev1.ResourceSlice)(nil)},
		{"podcertificaterequests", "", "default", (*certificatesv1.PodCertificateRequest)(nil)},
		{"certificatesigningrequests", "", "", (*certificatesv1.CertificateSigningRequest)(nil)},
	}
}
