// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestClaimAllocation(t *testing.T) {
	allocated := func(size string) claimEdit {
		return func(c *corev1.PersistentVolumeClaim) {
			c.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		}
	}
	const says = aboutClaim + `node "me" is not allowed to raise status.allocatedResources [NR-PVC-3]`
	run(t, restrict(aCluster(), enforce("NR-PVC-3")), []row{
		{name: "allocatedResources as they were: admitted", write: updateClaim(allocated("2Gi"), allocated("2Gi"))},
		{name: "allocatedResources lowered: admitted", write: updateClaim(allocated("2Gi"), allocated("1Gi"))},
		{name: "allocatedResources raised: denied", write: updateClaim(allocated("1Gi"), allocated("2Gi")), by: "NR-PVC-3",
			says: says},
		{name: "allocatedResources set first: denied",
			write: updateClaim(func(c *corev1.PersistentVolumeClaim) { c.Status.AllocatedResources = nil }, allocated("1")),
			by:    "NR-PVC-3", says: says},
	})
	run(t, restrict(aCluster()),
		[]row{{name: "rule off, allocatedResources raised: admitted",
			write: updateClaim(allocated("1Gi"), allocated("2Gi"))}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, "NR-PVC-3")), updateClaim(allocated("1Gi"), allocated("2Gi")),
		"NR-PVC-3")
}
