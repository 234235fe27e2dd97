// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "testing"

func TestLeases(t *testing.T) { run(t, leaseRows()) }

func leaseRows() []row {
	const (
		group   = "coordination.k8s.io"
		here    = "kube-node-lease"
		verbs   = "can only get, create, update, patch, or delete a node lease "
		space   = "can only access leases in the \"kube-node-lease\" system namespace "
		ownName = "can only access node lease with the same name as the requesting node "
	)
	return []row{
		{"the creation of a lease may do so", request{Verb: "create", APIGroup: group, Resource: "leases", Namespace: here},
			allowed, "[NA-LEASE-1]"},
		{"the creation of a lease elsewhere is refused",
			request{Verb: "create", APIGroup: group, Resource: "leases", Namespace: "kube-system"}, refused,
			space + "[NA-LEASE-1]"},
		{"the creation of a lease nowhere is refused", request{Verb: "create", APIGroup: group, Resource: "leases"}, refused,
			space + "[NA-LEASE-1]"},
		{"the deletion of its lease may do so",
			request{Verb: "delete", APIGroup: group, Resource: "leases", Namespace: here, Name: "me"}, allowed, "[NA-LEASE-2]"},
		{"the deletion of another's lease is refused",
			request{Verb: "delete", APIGroup: group, Resource: "leases", Namespace: here, Name: "other"}, refused,
			ownName + "[NA-LEASE-2]"},
		{"the deletion of its lease's namesake is refused",
			request{Verb: "delete", APIGroup: group, Resource: "leases", Namespace: "kube-system", Name: "me"}, refused,
			space + "[NA-LEASE-2]"},
		{"the deletion of all leases is refused",
			request{Verb: "deletecollection", APIGroup: group, Resource: "leases", Namespace: here}, refused,
			verbs + "[NA-LEASE-2]"},
		{"its lease may get it", request{Verb: "get", APIGroup: group, Resource: "leases", Namespace: here, Name: "me"},
			allowed, "[NA-LEASE-3]"},
		{"the update of its lease may do so",
			request{Verb: "update", APIGroup: group, Resource: "leases", Namespace: here, Name: "me"}, allowed, "[NA-LEASE-3]"},
		{"the patch of its lease may do so",
			request{Verb: "patch", APIGroup: group, Resource: "leases", Namespace: here, Name: "me"}, allowed, "[NA-LEASE-3]"},
		{"another's lease is refused",
			request{Verb: "get", APIGroup: group, Resource: "leases", Namespace: here, Name: "other"}, refused,
			ownName + "[NA-LEASE-3]"},
		{"the update of another's lease is refused",
			request{Verb: "update", APIGroup: group, Resource: "leases", Namespace: here, Name: "other"}, refused,
			ownName + "[NA-LEASE-3]"},
		{"a lease without a name is refused", request{Verb: "get", APIGroup: group, Resource: "leases", Namespace: here},
			refused, ownName + "[NA-LEASE-3]"},
		{"the namesake of its lease is refused",
			request{Verb: "get", APIGroup: group, Resource: "leases", Namespace: "kube-system", Name: "me"}, refused,
			space + "[NA-LEASE-3]"},
		{"a list of its lease is refused",
			request{Verb: "list", APIGroup: group, Resource: "leases", Namespace: here, Name: "me"}, refused,
			verbs + "[NA-LEASE-3]"},
		{"a watch of all leases is refused", request{Verb: "watch", APIGroup: group, Resource: "leases", Namespace: here},
			refused, verbs + "[NA-LEASE-3]"},
		{"its lease's status is treated as the lease",
			request{Verb: "get", APIGroup: group, Resource: "leases", Subresource: "status", Namespace: here, Name: "me"},
			allowed, "[NA-LEASE-3]"},
	}
}
