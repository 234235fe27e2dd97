// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var claimAllocation = rules.Rule{
	ID: "NR-PVC-3",
	Description: "With the status of a PersistentVolumeClaim, a node does not raise allocatedResources: the storage " +
		"quota of the namespace counts them.",
	Source: "Bulkhead: pkg/quota/v1/evaluator/core/persistent_volume_claims.go getStorageUsage; " +
		"only the controller that expands the volume raises them (pkg/volume/util/resize_util.go " +
		"MarkControllerReisizeInProgress)",
	Extension: true,
	Optional:  true,
}

func (r *Restriction) reviewClaimAllocation(q *request, old, claim *corev1.PersistentVolumeClaim) *rules.Decision {
	return r.optional(q, claimAllocation, func() *rules.Decision {
		for name, now := range claim.Status.AllocatedResources {
			if before := old.Status.AllocatedResources[name]; now.Cmp(before) > 0 {
				return q.forbid(claimAllocation, fmt.Sprintf("node %q is not allowed to raise status.allocatedResources", q.node))
			}
		}
		return nil
	})
}
