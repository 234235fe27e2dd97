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

// leasing creates a lease with a node's name.
func leasing(where place, namespace string) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		return Create(api.Leases).In(namespace).With(fixtures.Lease(namespace, where(e)))
	}
}

var _ = DescribeTable("a node and a lease", admit,
	Entry("creates its own", Allows("NR-LEASE-1"), leasing(own, fixtures.LeaseNamespace)),
	Entry("does not create another node's", Denies("NR-LEASE-1"), leasing(other, fixtures.LeaseNamespace),
		"can only access node lease with the same name as the requesting node"),
)

var _ = It("a node to which RBAC grants leases in another namespace does not create one there", Denies("NR-LEASE-1"),
	func(ctx SpecContext) {
		admitGranted(ctx, granted(leasing(own, "default"), rbacv1.PolicyRule{
			Verbs: []string{"create"}, APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
		}), "can only access leases in the")
	})
