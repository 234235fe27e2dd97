// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	claimStatusOnly = rules.Rule{
		ID:          "NR-PVC-1",
		Description: "A node writes nothing of a PersistentVolumeClaim but its status, and that only by updates.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go Admit, admitPVCStatus",
	}
	claimStatusFields = rules.Rule{
		ID: "NR-PVC-2",
		Description: "With the status of a PersistentVolumeClaim, a node changes its capacity, its conditions and, where " +
			"RecoverVolumeExpansionFailure is on, what an expansion was allocated; no label, annotation, owner, finalizer or " +
			"other field.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitPVCStatus",
	}
)

var persistentVolumeClaimRules = []rules.Rule{claimStatusOnly, claimStatusFields, claimAllocation}

// reviewPersistentVolumeClaim does not ask whose the claim is: the authorizer lets a
// node update only those of its pods.
func (r *Restriction) reviewPersistentVolumeClaim(q *request) *rules.Decision {
	if q.GetSubresource() != "status" {
		return q.forbid(claimStatusOnly, "may only update PVC status")
	}
	if q.GetOperation() != admission.Update {
		return q.forbid(claimStatusOnly, fmt.Sprintf("unexpected operation %q", q.GetOperation()))
	}
	old, ok := typed[corev1.PersistentVolumeClaim](q.GetOldObject())
	if !ok {
		return q.unexpected(claimStatusFields, q.GetOldObject())
	}
	claim, ok := typed[corev1.PersistentVolumeClaim](q.GetObject())
	if !ok {
		return q.unexpected(claimStatusFields, q.GetObject())
	}
	expansion := r.config.Features.RecoverVolumeExpansionFailure
	if sameClaim(old, claim, expansion) {
		return r.reviewClaimAllocation(q, old, claim)
	}
	if changed := changedClaimFields(old, claim, expansion); len(changed) > 0 {
		// Upstream prints the two objects; the names of the fields have a bounded length.
		return q.forbid(claimStatusFields, fmt.Sprintf(
			"node %q is not allowed to update fields other than status.quantity and status.conditions: %s", q.node,
			strings.Join(changed, ", ")))
	}
	return r.reviewClaimAllocation(q, old, claim)
}
