// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	sliceCreate = rules.Rule{
		ID:          "NR-SLICE-1",
		Description: "A node creates only ResourceSlices whose spec.nodeName is its own name.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go admitResourceSlice",
	}
	sliceDelete = rules.Rule{
		ID: "NR-SLICE-2",
		Description: "A node deletes only ResourceSlices whose spec.nodeName is its own name, one by one or as a " +
			"collection.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitResourceSlice",
	}
	sliceCap = rules.Rule{
		ID:          "NR-SLICE-3",
		Description: "A node has at most as many ResourceSlices as caps.resourceSlices in the configuration.",
		Source:      "Bulkhead: one node must not fill the cluster with objects",
		Extension:   true,
		Optional:    true,
	}
)

var resourceSliceRules = []rules.Rule{sliceCreate, sliceDelete, sliceCap, slicePool}

// reviewResourceSlice does not check updates. The authorizer checks which node owns the slice, and
// spec.nodeName, spec.driver and spec.pool.name are immutable.
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

// nodeOfSlice returns "" for a slice that does not belong to one node.
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

var slicePool = rules.Rule{
	ID: "NR-SLICE-4",
	Description: "A node creates no ResourceSlice in a pool that is named after another existing Node. In a pool " +
		"that is not named after the node, it creates one only if no slice of the same driver in the pool belongs " +
		"to others.",
	Source: "Bulkhead; staging/src/k8s.io/dynamic-resource-allocation/structured: the scheduler knows a device by " +
		"driver, pool and name, and of a pool it takes the newest generation only",
	Extension: true,
	Optional:  true,
}

func (r *Restriction) reviewSlicePool(ctx context.Context, q *request) *rules.Decision {
	return r.optional(q, slicePool, func() *rules.Decision {
		driver, pool := poolOfSlice(q.GetObject())
		return r.checkSlicePool(ctx, q, driver, pool)
	})
}

// checkSlicePool makes no lookup if the pool is named after the node, as the pools of most drivers
// are. This rule denies such a pool to other nodes. The name of a pool may have segments. Only the
// first one is compared with node names.
func (r *Restriction) checkSlicePool(ctx context.Context, q *request, driver, pool string) *rules.Decision {
	first, _, _ := strings.Cut(pool, "/")
	if first == q.node {
		return nil
	}
	switch _, err := r.config.Cluster.Node(ctx, first); {
	case err == nil:
		return q.notThisPool(pool)
	case !apierrors.IsNotFound(err):
		return q.raw(slicePool, err)
	}
	user, err := r.config.Cluster.PoolUser(ctx, driver, pool, q.node)
	switch {
	case err != nil:
		return q.raw(slicePool, err)
	case user != "":
		return q.notThisPool(pool)
	}
	return nil
}

// notThisPool has the same text for every owner. So the text does not say which nodes exist.
func (q *request) notThisPool(pool string) *rules.Decision {
	return q.forbid(slicePool,
		fmt.Sprintf("node %q is not allowed to create a ResourceSlice in the pool %.253q of others", q.node, pool))
}

func poolOfSlice(o runtime.Object) (driver, pool string) {
	if slice, ok := typed[resourcev1.ResourceSlice](o); ok {
		return slice.Spec.Driver, slice.Spec.Pool.Name
	}
	if slice, ok := typed[resourcev1beta2.ResourceSlice](o); ok {
		return slice.Spec.Driver, slice.Spec.Pool.Name
	}
	if slice, ok := typed[resourcev1beta1.ResourceSlice](o); ok {
		return slice.Spec.Driver, slice.Spec.Pool.Name
	}
	return "", ""
}
