// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func newSlice(where place) Story {
	return func(ctx context.Context, s *Scene) Request {
		s.Node(ctx, s.Own)
		return Create(api.ResourceSlices).With(fixtures.ResourceSlice(s.NewName("slice"), where(s)))
	}
}

// slice makes one and writes to it.
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

var _ = It("a node to which RBAC grants all resource slices does not delete another node's", Denies("NR-SLICE-2"), func(ctx SpecContext) {
	admitGranted(ctx, granted(slice(other, Delete(api.ResourceSlices)), rbacv1.PolicyRule{
		Verbs: []string{"delete"}, APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceslices"},
	}), "can only delete ResourceSlice with the same NodeName as the requesting node")
})
