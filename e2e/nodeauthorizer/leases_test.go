// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// leaseOf is a request for the lease of a node, in the namespace of leases.
func leaseOf(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.In(fixtures.LeaseNamespace).Named(node) })
}

// writtenLeaseOf writes the lease of a node.
func writtenLeaseOf(where place, namespace string, r Request) RequestFunc {
	return forNode(where, func(node string) Request {
		return r.In(namespace).Named(node).With(fixtures.Lease(namespace, node))
	})
}

const (
	onlyLeaseVerbs = "can only get, create, update, patch, or delete a node lease"
	onlyNodeLeases = `can only access leases in the "kube-node-lease" system namespace`
	onlyOwnLease   = "can only access node lease with the same name as the requesting node"
)

var _ = DescribeTable("a node and a lease", decide,
	Entry("creates its own in kube-node-lease", Allows("NA-LEASE-1"),
		writtenLeaseOf(own, fixtures.LeaseNamespace, Create(api.Leases))),
	Entry("does not create one in another namespace", Denies("NA-LEASE-1"),
		writtenLeaseOf(own, "kube-system", Create(api.Leases)), onlyNodeLeases),

	Entry("deletes its own", Allows("NA-LEASE-2"), leaseOf(own, Delete(api.Leases).OrMissing())),
	Entry("does not delete another node's", Denies("NA-LEASE-2"), leaseOf(other, Delete(api.Leases)), onlyOwnLease),
	Entry("does not delete all leases", Denies("NA-LEASE-2"),
		plainly(DeleteAll(api.Leases).In(fixtures.LeaseNamespace)), onlyLeaseVerbs),

	Entry("gets its own", Allows("NA-LEASE-3"), leaseOf(own, Get(api.Leases).OrMissing())),
	Entry("does not get another node's", Denies("NA-LEASE-3"), leaseOf(other, Get(api.Leases)), onlyOwnLease),
	Entry("updates its own", Allows("NA-LEASE-3"), writtenLeaseOf(own, fixtures.LeaseNamespace, Update(api.Leases))),
	Entry("does not update another node's", Denies("NA-LEASE-3"),
		writtenLeaseOf(other, fixtures.LeaseNamespace, Update(api.Leases)), onlyOwnLease),
	Entry("does not update a lease of its name in another namespace", Denies("NA-LEASE-3"),
		writtenLeaseOf(own, "kube-system", Update(api.Leases)), onlyNodeLeases),
	Entry("patches its own", Allows("NA-LEASE-3"), leaseOf(own, Patch(api.Leases).OrMissing())),
	Entry("does not patch another node's", Denies("NA-LEASE-3"), leaseOf(other, Patch(api.Leases)), onlyOwnLease),
	Entry("does not list leases", Denies("NA-LEASE-3"), plainly(List(api.Leases).In(fixtures.LeaseNamespace)),
		onlyLeaseVerbs),
	Entry("does not watch its own", Denies("NA-LEASE-3"),
		forNode(own, func(node string) Request {
			return Watch(api.Leases).In(fixtures.LeaseNamespace).Where("metadata.name=" + node)
		}), onlyLeaseVerbs),
)
