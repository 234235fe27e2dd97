// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var leaseOwnName = rules.Rule{
	ID:          "NR-LEASE-1",
	Description: "A node writes only the lease in the namespace kube-node-lease that has its own name.",
	Source:      "plugin/pkg/admission/noderestriction/admission.go admitLease",
}

var leaseRules = []rules.Rule{leaseOwnName}

func reviewLease(q *request) *rules.Decision {
	if q.GetNamespace() != corev1.NamespaceNodeLease {
		return q.forbid(leaseOwnName, `can only access leases in the "kube-node-lease" system namespace`)
	}
	name := q.GetName()
	if q.GetOperation() == admission.Create {
		lease, ok := typed[coordinationv1.Lease](q.GetObject())
		if !ok {
			return q.unexpected(leaseOwnName, q.GetObject())
		}
		name = lease.Name
	}
	if name != q.node {
		return q.forbid(leaseOwnName, "can only access node lease with the same name as the requesting node")
	}
	return nil
}
