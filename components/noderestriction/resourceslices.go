// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	sliceCreate = rules.Rule{
		ID:          "NR-SLICE-1",
		Description: "A node creates only ResourceSlices whose spec.nodeName is its own.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go admitResourceSlice",
	}
	sliceDelete = rules.Rule{
		ID:          "NR-SLICE-2",
		Description: "A node deletes only ResourceSlices whose spec.nodeName is its own, also where it deletes many at once.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go admitResourceSlice",
	}
	sliceCap = rules.Rule{
		ID:          "NR-SLICE-3",
		Description: "A node has no more ResourceSlices than caps.resourceSlices of the configuration says.",
		Source:      "ours: one node must not fill the cluster with objects",
		Extension:   true,
		Optional:    true,
	}
)

var resourceSliceRules = []rules.Rule{sliceCreate, sliceDelete, sliceCap, slicePool}

// reviewResourceSlice leaves updates to the authorizer, which knows whose a slice
// is: spec.nodeName, spec.driver and spec.pool.name never change.
func (r *Restriction) reviewResourceSlice(ctx context.Context, q *request) *rules.Decision {
	switch q.GetOperation() {
	case admission.Create:
		node, ok := nodeOfSlice(q.GetObject())
		if !ok {
			return q.unexpected(sliceCreate, q.GetObject())
		}
		if node != q.node {
			return q.forbid(sliceCreate, "can only create ResourceSlice with the same NodeName as the requesting node")
		}
		if refused := r.reviewSlicePool(ctx, q); refused != nil {
			return refused
		}
		return r.reviewCap(ctx, q, sliceCap, ResourceSlices, q.caps().ResourceSlices, "ResourceSlices")
	case admission.Delete:
		node, ok := nodeOfSlice(q.GetOldObject())
		if !ok {
			return q.unexpected(sliceDelete, q.GetOldObject())
		}
		if node != q.node {
			return q.forbid(sliceDelete, "can only delete ResourceSlice with the same NodeName as the requesting node")
		}
		return nil
	default:
		return nil
	}
}

// nodeOfSlice is empty for a slice that is not one node's.
func nodeOfSlice(o runtime.Object) (node string, ok bool) {
	if slice, ok := typed[resourcev1.ResourceSlice](o); ok {
		return ptr.Deref(slice.Spec.NodeName, ""), true
	}
	if slice, ok := typed[resourcev1beta2.ResourceSlice](o); ok {
		return ptr.Deref(slice.Spec.NodeName, ""), true
	}
	if slice, ok := typed[resourcev1beta1.ResourceSlice](o); ok {
		return slice.Spec.NodeName, true
	}
	return "", false
}
