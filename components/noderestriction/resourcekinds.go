// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// resourceKind identifies the rules for one resource and its subresources, in all versions. A
// resource without rules has the zero value.
type resourceKind uint8

const (
	_ resourceKind = iota
	ofPods
	ofNodes
	ofPersistentVolumeClaims
	ofServiceAccounts
	ofEvents
	ofLeases
	ofCSINodes
	ofResourceSlices
	ofPodCertificateRequests
	ofCertificateSigningRequests
)

// resourceKindOf is the only list of the resources that have rules. The registration of the webhook
// (manifests/node-restriction) lists the same resources.
func resourceKindOf(r schema.GroupVersionResource) resourceKind {
	group, resource := r.Group, r.Resource
	if group == "" {
		return coreResourceKind(resource)
	}
	switch {
	case group == "coordination.k8s.io" && resource == "leases":
		return ofLeases
	case group == "storage.k8s.io" && resource == "csinodes":
		return ofCSINodes
	case group == "resource.k8s.io" && resource == "resourceslices":
		return ofResourceSlices
	case group == "certificates.k8s.io" && resource == "podcertificaterequests":
		return ofPodCertificateRequests
	case group == "certificates.k8s.io" && resource == "certificatesigningrequests":
		return ofCertificateSigningRequests
	case group == "events.k8s.io" && resource == "events":
		return ofEvents
	}
	return 0
}

func coreResourceKind(resource string) resourceKind {
	switch resource {
	case "pods":
		return ofPods
	case "nodes":
		return ofNodes
	case "persistentvolumeclaims":
		return ofPersistentVolumeClaims
	case "serviceaccounts":
		return ofServiceAccounts
	case "events":
		return ofEvents
	}
	return 0
}

// HasRules reports whether there are rules for writes to a resource or its subresources. Every
// write to a resource without rules is admitted.
func HasRules(resource schema.GroupResource) bool {
	return resourceKindOf(resource.WithVersion("")) != 0
}

// concerns returns false if no rule can apply to the resource. Events have only optional rules, and
// are most of what nodes write.
func (r *Restriction) concerns(of resourceKind) bool {
	return of != 0 && (of != ofEvents || r.onEvents)
}

// reviewKind returns the denial of a write, or nil to admit it.
func (r *Restriction) reviewKind(ctx context.Context, of resourceKind, q *request) *rules.Decision {
	if q.node == "" {
		return q.nameless()
	}
	switch of {
	case ofPods:
		return r.reviewPod(ctx, q)
	case ofNodes:
		return r.reviewNode(ctx, q)
	case ofPersistentVolumeClaims:
		return r.reviewPersistentVolumeClaim(q)
	case ofServiceAccounts:
		return r.reviewServiceAccount(ctx, q)
	case ofEvents:
		return r.reviewEvent(ctx, q)
	case ofLeases:
		return reviewLease(q)
	case ofCSINodes:
		return r.reviewCSINode(q)
	case ofResourceSlices:
		return r.reviewResourceSlice(ctx, q)
	case ofPodCertificateRequests:
		return r.reviewPodCertificateRequest(ctx, q)
	case ofCertificateSigningRequests:
		return r.reviewCertificateSigningRequest(ctx, q)
	}
	return nil
}

// Rules are all rules of this component, in the order of its documentation.
var Rules = slices.Concat(
	identityRules, podRules, mirrorPodRules, podStatusExtensionRules, nodeRules, nodeConfiguredRules, nodeExtensionRules,
	persistentVolumeClaimRules,
	serviceAccountRules, podCertificateRequestRules, leaseRules, csiNodeRules, resourceSliceRules,
	certificateSigningRequestRules, eventRules, objectRules, transportRules, bootstrapRules,
)

var identityNamed = rules.Rule{
	ID:          "NR-IDENT-1",
	Description: "A user in system:nodes without a node name may not write any resource that has a rule.",
	Source:      "plugin/pkg/admission/noderestriction/admission.go Admit",
}

func (q *request) nameless() *rules.Decision {
	return q.forbid(identityNamed, fmt.Sprintf("could not determine node from user %q", q.GetUserInfo().GetName()))
}

var identityRules = []rules.Rule{identityNamed}
