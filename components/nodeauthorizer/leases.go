// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// leaseNamespace is the namespace of the nodes' heartbeats.
const leaseNamespace = "kube-node-lease"

var (
	leaseCreate = promise(rules.Rule{
		ID:          "NA-LEASE-1",
		Description: "A node may create a lease in the namespace kube-node-lease and in no other.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeLease",
	})
	leaseDelete = promise(rules.Rule{
		ID:          "NA-LEASE-2",
		Description: "A node may delete the lease in kube-node-lease that bears its own name, and neither another lease nor many at once.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeLease",
	})
	leaseOwnName = promise(rules.Rule{
		ID:          "NA-LEASE-3",
		Description: "A node may get, update and patch only the lease in kube-node-lease that bears its own name, and may not list or watch leases.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeLease",
	})
)

var (
	leaseVerbs     = say("can only get, create, update, patch, or delete a node lease")
	leaseElsewhere = say(`can only access leases in the "kube-node-lease" system namespace`)
	leaseOfAnother = say("can only access node lease with the same name as the requesting node")
)

// authorizeLease keeps a node to its own heartbeat. The name of a lease that
// is being created is not known here; admission checks it.
func authorizeLease(node string, a *request) verdict {
	r := leaseOwnName
	switch a.Verb {
	case "create":
		r = leaseCreate
	case "delete":
		r = leaseDelete
	case "get", "update", "patch":
	case "deletecollection":
		return refuse(leaseDelete, leaseVerbs)
	default:
		return refuse(r, leaseVerbs)
	}
	if a.Namespace != leaseNamespace {
		return refuse(r, leaseElsewhere)
	}
	if r != leaseCreate && a.Name != node {
		return refuse(r, leaseOfAnother)
	}
	return allow(r)
}
