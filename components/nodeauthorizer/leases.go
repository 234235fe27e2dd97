// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// leaseNamespace is the namespace of the nodes' heartbeats.
const leaseNamespace = "kube-node-lease"

var (
	leaseCreate = promise(rules.Rule{
		ID:      "NA-LEASE-1",
		Promise: "A node may create a lease in the namespace kube-node-lease and in no other.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeLease",
	})
	leaseDelete = promise(rules.Rule{
		ID:      "NA-LEASE-2",
		Promise: "A node may delete the lease in kube-node-lease that bears its own name, and neither another lease nor many at once.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeLease",
	})
	leaseOwnName = promise(rules.Rule{
		ID:      "NA-LEASE-3",
		Promise: "A node may get, update and patch only the lease in kube-node-lease that bears its own name, and may not list or watch leases.",
		Source:  "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeLease",
	})
)

// authorizeLease keeps a node to its own heartbeat. The name of a lease that
// is being created is not known here; admission checks it.
func authorizeLease(node string, a authorizer.Attributes) verdict {
	r := leaseOwnName
	switch a.GetVerb() {
	case "create":
		r = leaseCreate
	case "delete":
		r = leaseDelete
	case "get", "update", "patch":
	case "deletecollection":
		return refuse(leaseDelete, "can only get, create, update, patch, or delete a node lease")
	default:
		return refuse(r, "can only get, create, update, patch, or delete a node lease")
	}
	if a.GetNamespace() != leaseNamespace {
		return refuse(r, `can only access leases in the "kube-node-lease" system namespace`)
	}
	if r != leaseCreate && a.GetName() != node {
		return refuse(r, "can only access node lease with the same name as the requesting node")
	}
	return allow(r)
}
