// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func newSlice(where place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Own)
		return Create(api.ResourceSlices).With(fixtures.ResourceSlice(e.NewName("slice"), where(e)))
	}
}

// pooled creates a slice of a node in a pool.
func pooled(where place, pool func(*Env) string) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Own)
		e.Node(ctx, e.Other)
		made := fixtures.ResourceSlice(e.NewName("slice"), where(e))
		made.Spec.Pool.Name = pool(e)
		return Create(api.ResourceSlices).With(made)
	}
}

// sliceInPool creates a slice of a node in a pool whose name is not a node's. The pool already has
// one slice.
func sliceInPool(where, first place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pool := e.NewName("pool")
		made := fixtures.ResourceSlice(e.NewName("slice"), first(e))
		if made.Spec.Pool.Name = pool; first(e) == "" {
			made.Spec.NodeName, made.Spec.AllNodes = nil, ptr.To(true)
		}
		e.Put(ctx, made)
		return pooled(where, func(*Env) string { return pool })(ctx, e)
	}
}

func nowhere(*Env) string { return "" }

func below(where place) place { return func(e *Env) string { return where(e) + "/gpu-0" } }

const notThisPool = "is not allowed to create a ResourceSlice in the pool"

var _ = DescribeTable("a node and a pool of devices", admit,
	Entry("named like the node: allowed", Allows("NR-SLICE-4"), pooled(own, own)),
	Entry("named below the node's name: allowed", Allows("NR-SLICE-4"), pooled(own, below(own))),
	Entry("named like another node: denied", DeniesBeyond("NR-SLICE-4", Behind), pooled(own, other), notThisPool),
	Entry("named below another node's name: denied", DeniesBeyond("NR-SLICE-4", Behind), pooled(own, below(other)),
		notThisPool),
	Entry("of another name, which the node already uses: allowed", Allows("NR-SLICE-4"), sliceInPool(own, own)),
	Entry("of another name, which another node uses: denied", DeniesBeyond("NR-SLICE-4", Behind), sliceInPool(own, other),
		notThisPool),
	Entry("of another name, which slices of all nodes use: denied", DeniesBeyond("NR-SLICE-4", Behind),
		sliceInPool(own, nowhere), notThisPool),
)

var _ = DescribeTable("the worker's kubelet and a pool of devices", Label(OnHost, OnWorker), asWorkersKubelet,
	Entry("named like the node: allowed", Allows("NR-SLICE-4"), pooled(worker, worker)),
	Entry("of a name that no node uses: allowed", Allows("NR-SLICE-4"),
		pooled(worker, func(e *Env) string { return e.NewName("pool") })),
	Entry("named like the control plane: denied", DeniesBeyond("NR-SLICE-4", Behind),
		pooled(worker, func(*Env) string { return suite.ControlPlane }), notThisPool),
	Entry("that another node uses: denied", DeniesBeyond("NR-SLICE-4", Behind), sliceInPool(worker, other), notThisPool),
)

// slice creates a slice and writes to it.
func slice(where place, r Request) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Own)
		made := fixtures.ResourceSlice(e.NewName("slice"), where(e))
		e.Put(ctx, made)
		return r.Named(made.Name)
	}
}

var _ = DescribeTable("a node and a resource slice", admit,
	Entry("creates a slice of its own devices", Allows("NR-SLICE-1"), newSlice(own)),
	Entry("does not create a slice of another node's devices", Denies("NR-SLICE-1"), newSlice(other),
		"can only create ResourceSlice with the same NodeName as the requesting node"),
	Entry("deletes its own", Allows("NR-SLICE-2"), slice(own, Delete(api.ResourceSlices))),
	Entry("creates a slice below the limit", Allows("NR-SLICE-3"), newSlice(own)),
)

var _ = It("a node to which RBAC grants all resource slices does not delete another node's", Denies("NR-SLICE-2"),
	func(ctx SpecContext) {
		admitGranted(ctx, granted(slice(other, Delete(api.ResourceSlices)), rbacv1.PolicyRule{
			Verbs: []string{"delete"}, APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceslices"},
		}), "can only delete ResourceSlice with the same NodeName as the requesting node")
	})
