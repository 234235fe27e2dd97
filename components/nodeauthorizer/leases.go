// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// leaseNamespace is the namespace of the node heartbeats.
const leaseNamespace = "kube-node-lease"

var (
	leaseCreate = rules.Rule{
		ID:          "NA-LEASE-1",
		Description: "A node may create a lease only in the namespace kube-node-lease.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeLease",
	}
	leaseDelete = rules.Rule{
		ID: "NA-LEASE-2",
		Description: "A node may delete only the lease in kube-node-lease that has its own name, and may not " +
			"delete a collection of leases.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeLease",
	}
	leaseOwnName = rules.Rule{
		ID: "NA-LEASE-3",
		Description: "A node may get, update and patch only the lease in kube-node-lease that has its own name, " +
			"and may not list or watch leases.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeLease",
	}
)

const (
	leaseVerbs     = "can only get, create, update, patch, or delete a node lease"
	leaseElsewhere = `can only access leases in the "kube-node-lease" system namespace`
	leaseOfAnother = "can only access node lease with the same name as the requesting node"
)

// authorizeLease limits a node to its own heartbeat. The name of a lease that is being created is
// not known here, so admission checks it.
func authorizeLease(node string, a *request) rules.Decision {
	r := leaseOwnName
	switch a.Verb {
	case "create":
		r = leaseCreate
	case "delete":
		r = leaseDelete
	case "get", "update", "patch":
	case "deletecollection":
		return deny(leaseDelete, leaseVerbs)
	default:
		return deny(r, leaseVerbs)
	}
	if a.Namespace != leaseNamespace {
		return deny(r, leaseElsewhere)
	}
	if r != leaseCreate && a.Name != node {
		return deny(r, leaseOfAnother)
	}
	return allow(r)
}
