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

func newSlice(where place) Story {
	return func(ctx context.Context, s *Scene) Request {
		s.Node(ctx, s.Own)
		return Create(api.ResourceSlices).With(fixtures.ResourceSlice(s.NewName("slice"), where(s)))
	}
}

// pooled creates a slice of a node in a pool.
func pooled(where place, pool func(*Scene) string) Story {
	return func(ctx context.Context, s *Scene) Request {
		s.Node(ctx, s.Own)
		s.Node(ctx, s.Other)
		made := fixtures.ResourceSlice(s.NewName("slice"), where(s))
		made.Spec.Pool.Name = pool(s)
		return Create(api.ResourceSlices).With(made)
	}
}

// sliceInPool creates a slice of a node in a pool whose name is not a node's. The pool already has
// one slice.
func sliceInPool(where, first place) Story {
	return func(ctx context.Context, s *Scene) Request {
		pool := s.NewName("pool")
		made := fixtures.ResourceSlice(s.NewName("slice"), first(s))
		if made.Spec.Pool.Name = pool; first(s) == "" {
			made.Spec.NodeName, made.Spec.AllNodes = nil, ptr.To(true)
		}
		s.Put(ctx, made)
		return pooled(where, func(*Scene) string { return pool })(ctx, s)
	}
}

func nowhere(*Scene) string { return "" }

func below(where place) place { return func(s *Scene) string { return where(s) + "/gpu-0" } }

const notThisPool = "is not allowed to create a ResourceSlice in the pool"

var _ = DescribeTable("a node and a pool of devices", admit,
	Entry("of its name", Allows("NR-SLICE-4"), pooled(own, own)),
	Entry("below its name", Allows("NR-SLICE-4"), pooled(own, below(own))),
	Entry("of another node's name: denied", DeniesBeyond("NR-SLICE-4", Behind), pooled(own, other), notThisPool),
	Entry("below another node's name: denied", DeniesBeyond("NR-SLICE-4", Behind), pooled(own, below(other)), notThisPool),
	Entry("of another name, which it uses already", Allows("NR-SLICE-4"), sliceInPool(own, own)),
	Entry("of another name, which another node uses: denied", DeniesBeyond("NR-SLICE-4", Behind), sliceInPool(own, other),
		notThisPool),
	Entry("of another name, which slices of all nodes use: denied", DeniesBeyond("NR-SLICE-4", Behind),
		sliceInPool(own, nowhere), notThisPool),
)

var _ = DescribeTable("the worker's kubelet and a pool of devices", Label(OnHost, OnWorker), asWorkersKubelet,
	Entry("of its name", Allows("NR-SLICE-4"), pooled(worker, worker)),
	Entry("of a name that nobody uses", Allows("NR-SLICE-4"),
		pooled(worker, func(s *Scene) string { return s.NewName("pool") })),
	Entry("of the control plane's name: denied", DeniesBeyond("NR-SLICE-4", Behind),
		pooled(worker, func(*Scene) string { return suite.ControlPlane }), notThisPool),
	Entry("that another node uses: denied", DeniesBeyond("NR-SLICE-4", Behind), sliceInPool(worker, other), notThisPool),
)

// slice creates a slice and writes to it.
func slice(where place, r Request) Story {
	return func(ctx context.Context, s *Scene) Request {
		s.Node(ctx, s.Own)
		made := fixtures.ResourceSlice(s.NewName("slice"), where(s))
		s.Put(ctx, made)
		return r.Named(made.Name)
	}
}

var _ = DescribeTable("a node and a resource slice", admit,
	Entry("makes one of its own devices", Allows("NR-SLICE-1"), newSlice(own)),
	Entry("does not make one of another node's", Denies("NR-SLICE-1"), newSlice(other),
		"can only create ResourceSlice with the same NodeName as the requesting node"),
	Entry("deletes its own", Allows("NR-SLICE-2"), slice(own, Delete(api.ResourceSlices))),
	Entry("makes one as long as there is room", Allows("NR-SLICE-3"), newSlice(own)),
)

var _ = It("a node to which RBAC grants all resource slices does not delete another node's", Denies("NR-SLICE-2"),
	func(ctx SpecContext) {
		admitGranted(ctx, granted(slice(other, Delete(api.ResourceSlices)), rbacv1.PolicyRule{
			Verbs: []string{"delete"}, APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceslices"},
		}), "can only delete ResourceSlice with the same NodeName as the requesting node")
	})
