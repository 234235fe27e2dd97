// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	csiNodeOwnName = rules.Rule{
		ID:          "NR-CSINODE-1",
		Description: "A node writes only the CSINode that has its own name.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go admitCSINode",
	}
	csiNodeStatus = rules.Rule{
		ID: "NR-CSINODE-2",
		Description: "A node updates the status of its CSINode only while CSIVolumeHealth is on, and does not " +
			"change the spec in the same request.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitCSINodeStatus",
	}
)

var csiNodeRules = []rules.Rule{csiNodeOwnName, csiNodeStatus}

func (r *Restriction) reviewCSINode(q *request) *rules.Decision {
	name := q.GetName()
	if q.GetOperation() == admission.Create {
		csiNode, ok := typed[storagev1.CSINode](q.GetObject())
		if !ok {
			return q.forbid(csiNodeOwnName, "unable to access the object name")
		}
		name = csiNode.Name
	}
	if name != q.node {
		return q.forbid(csiNodeOwnName, "can only access CSINode with the same name as the requesting node")
	}
	if q.GetSubresource() != "status" {
		return nil
	}
	return r.reviewCSINodeStatus(q)
}

func (r *Restriction) reviewCSINodeStatus(q *request) *rules.Decision {
	if !r.config.Features.CSIVolumeHealth {
		return q.forbid(csiNodeStatus, "CSIVolumeHealth feature gate is disabled")
	}
	if q.GetOperation() != admission.Update {
		return q.forbid(csiNodeStatus, fmt.Sprintf("unexpected operation %q", q.GetOperation()))
	}
	old, ok := typed[storagev1.CSINode](q.GetOldObject())
	if !ok {
		return q.unexpected(csiNodeStatus, q.GetOldObject())
	}
	csiNode, ok := typed[storagev1.CSINode](q.GetObject())
	if !ok {
		return q.unexpected(csiNodeStatus, q.GetObject())
	}
	if !slices.EqualFunc(old.Spec.Drivers, csiNode.Spec.Drivers, sameDriver) {
		return q.forbid(csiNodeStatus, fmt.Sprintf("node %q is not allowed to modify CSINode spec via status", q.node))
	}
	return nil
}

func sameDriver(a, b storagev1.CSINodeDriver) bool {
	return a.Name == b.Name && a.NodeID == b.NodeID && slices.Equal(a.TopologyKeys, b.TopologyKeys) &&
		sameAllocatable(a.Allocatable, b.Allocatable)
}

func sameAllocatable(a, b *storagev1.VolumeNodeResources) bool {
	if a == nil || b == nil {
		return a == b
	}
	return ptr.Equal(a.Count, b.Count)
}
