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

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var slicePool = rules.Rule{
	ID: "NR-SLICE-4",
	Description: "A node creates no ResourceSlice in a pool that is named after another Node that exists, " +
		"or, unless the pool is named after the node itself, in which slices of the same driver are that are not its own.",
	Source: "ours; staging/src/k8s.io/dynamic-resource-allocation/structured: the scheduler knows a device by " +
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

// checkSlicePool needs no look-up for a pool that is named after the node, as the pools of
// most drivers are: this rule keeps other nodes out of it. The name of a pool may have
// segments, of which the first one counts.
func (r *Restriction) checkSlicePool(ctx context.Context, q *request, driver, pool string) *rules.Decision {
	first, _, _ := strings.Cut(pool, "/")
	if first == q.node {
		return nil
	}
	switch _, err := r.config.Cluster.Node(ctx, first); {
	case err == nil:
		return q.notThisPool(pool, fmt.Sprintf(" of node %q", first))
	case !apierrors.IsNotFound(err):
		return q.raw(slicePool, err)
	}
	user, err := r.config.Cluster.PoolUser(ctx, driver, pool, q.node)
	switch {
	case err != nil:
		return q.raw(slicePool, err)
	case user == NoNode:
		return q.notThisPool(pool, ", which has slices that are not of one node")
	case user != "":
		return q.notThisPool(pool, fmt.Sprintf(", which node %q uses", user))
	}
	return nil
}

func (q *request) notThisPool(pool, why string) *rules.Decision {
	return q.forbid(slicePool,
		fmt.Sprintf("node %q is not allowed to create a ResourceSlice in the pool %.253q%s", q.node, pool, why))
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
