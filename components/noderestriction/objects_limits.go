// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// A few thousand objects of the largest size fill the cluster's storage. Every component that
// watches Nodes or events receives each of them.
var (
	objectSize = rules.Rule{
		ID: "NR-SIZE-1",
		Description: "Each kind of object has a largest size. A node writes no larger object and does not let one " +
			"grow beyond it: an event, a lease, a CSINode and a PodCertificateRequest 64 KiB, a " +
			"CertificateSigningRequest 128 KiB, a mirror pod, the status of a pod and the status of a claim 256 " +
			"KiB, a Node and a ResourceSlice 512 KiB. In `hardened`, kube-apiserver does not send leases and " +
			"CSINodes to node-restriction.",
		Source: "Bulkhead: the API server takes objects of 1.5 MiB; pkg/apis/core/validation/events.go does not limit " +
			"the fields of an event of v1",
		Extension: true,
		Optional:  true,
	}
	objectFinalizers = rules.Rule{
		ID: "NR-FINALIZER-1",
		Description: "A node adds no finalizer to an event, a ResourceSlice, a PodCertificateRequest, a lease, a " +
			"CSINode or a new mirror pod. A finalizer would prevent the deletion of the object and of its " +
			"namespace. In `hardened`, kube-apiserver does not send leases and CSINodes to node-restriction.",
		Source:    "Bulkhead: a kubelet sets none; NR-CSR-6, NR-NODE-7 and NR-PODMETA-2 are the same for other objects",
		Extension: true,
		Optional:  true,
	}
)

var objectRules = []rules.Rule{objectSize, objectFinalizers}

const kib = 1 << 10

// maxSizes are the limits of NR-SIZE-1 in bytes. Requests such as TokenRequest are not stored and
// have no limit.
var maxSizes = [...]int{
	ofPods:                       256 * kib,
	ofNodes:                      512 * kib,
	ofPersistentVolumeClaims:     256 * kib,
	ofServiceAccounts:            0,
	ofEvents:                     64 * kib,
	ofLeases:                     64 * kib,
	ofCSINodes:                   64 * kib,
	ofResourceSlices:             512 * kib,
	ofPodCertificateRequests:     64 * kib,
	ofCertificateSigningRequests: 128 * kib,
}

// reviewObject runs last, so that a denial names a rule of the object's own kind where one applies.
func (r *Restriction) reviewObject(of resourceKind, q *request) *rules.Decision {
	if q.GetOperation() != admission.Create && q.GetOperation() != admission.Update || !isStored(of, q.GetSubresource()) {
		return nil
	}
	if refused := r.optional(q, objectSize, func() *rules.Decision { return checkSize(of, q) }); refused != nil {
		return refused
	}
	if of == ofNodes || of == ofPersistentVolumeClaims || of == ofCertificateSigningRequests || q.GetSubresource() != "" {
		return nil
	}
	return r.optional(q, objectFinalizers, func() *rules.Decision { return checkFinalizers(q) })
}

func isStored(of resourceKind, subresource string) bool {
	return maxSizes[of] > 0 && (subresource == "" || subresource == "status")
}

// checkSize admits a write to an object that another client has already made too large, unless the
// write makes it larger.
func checkSize(of resourceKind, q *request) *rules.Decision {
	size, most := sizeOf(q.GetObject(), q.GetSubresource()), maxSizes[of]
	if size <= most || size <= sizeOf(q.GetOldObject(), q.GetSubresource()) {
		return nil
	}
	return q.forbid(objectSize,
		fmt.Sprintf("node %q cannot write an object of this kind with %d bytes: the limit is %d", q.node, size, most))
}

// sizeOf returns the size that is stored, in bytes. For the status of a pod and for a claim it
// counts only the status, because the node does not write their spec.
func sizeOf(o runtime.Object, subresource string) int {
	if pod, ok := typed[corev1.Pod](o); ok && subresource != "" {
		return pod.Status.Size()
	}
	if claim, ok := typed[corev1.PersistentVolumeClaim](o); ok {
		return claim.Status.Size()
	}
	if sized, ok := o.(interface{ Size() int }); ok {
		return sized.Size()
	}
	return 0
}

func checkFinalizers(q *request) *rules.Decision {
	had := finalizersOf(q.GetOldObject())
	for _, finalizer := range finalizersOf(q.GetObject()) {
		if !slices.Contains(had, finalizer) {
			return q.forbid(objectFinalizers, fmt.Sprintf("node %q cannot add the finalizer %.253q", q.node, finalizer))
		}
	}
	return nil
}

func finalizersOf(o runtime.Object) []string {
	if present(o) == nil {
		return nil
	}
	object, err := meta.Accessor(o)
	if err != nil {
		return nil
	}
	return object.GetFinalizers()
}

var limit = rules.Rule{
	ID: "NR-LIMIT",
	Description: "A node has a limited share of the writes that are decided at one time, and reviews have a " +
		"largest size. A write beyond these is denied before its content is checked.",
	Source:    "Bulkhead: a flood from one node must not become another node's problem",
	Extension: true,
}

var transportRules = []rules.Rule{limit}
