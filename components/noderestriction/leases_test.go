// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

func aLease(namespace, name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestLeases(t *testing.T) {
	const (
		group = "leases.coordination.k8s.io "
		name  = " is forbidden: can only access node lease with the same name as the requesting node [NR-LEASE-1]"
		space = ` is forbidden: can only access leases in the "kube-node-lease" system namespace [NR-LEASE-1]`
	)
	mine, others, elsewhere := aLease("kube-node-lease", "me"), aLease("kube-node-lease", "other"),
		aLease("kube-system", "me")
	generated := aLease("kube-node-lease", "me-x7k2p")
	generated.GenerateName = "me-"
	run(t, restrict(aCluster()), []row{
		{name: "create own lease: allowed", write: write("me", admission.Create, "leases", "", mine, nil)},
		{name: "create other node's lease: denied",
			write: write("me", admission.Create, "leases", "", others, nil), by: "NR-LEASE-1",
			says: group + `"other"` + name},
		{name: "create own lease in another namespace: denied",
			write: write("me", admission.Create, "leases", "", elsewhere, nil),
			by:    "NR-LEASE-1", says: group + `"me"` + space},
		{name: "create lease with generateName: denied", write: write("me", admission.Create, "leases", "", generated, nil),
			by: "NR-LEASE-1", says: group + `"me-x7k2p"` + name},
		{name: "create lease with an object of another type: denied",
			write: write("me", admission.Create, "leases", "", aNode("me"), nil, in("kube-node-lease")), by: "NR-LEASE-1",
			says: group + `"me" is forbidden: unexpected type *v1.Node [NR-LEASE-1]`},
		{name: "create lease without an object: denied",
			write: write("me", admission.Create, "leases", "", nil, nil, in("kube-node-lease"),
				named("me")), by: "NR-LEASE-1", says: group + `"me" is forbidden: unexpected type <nil> [NR-LEASE-1]`},
		{name: "update own lease: allowed", write: write("me", admission.Update, "leases", "", mine, mine)},
		{name: "update other node's lease: denied",
			write: write("me", admission.Update, "leases", "", others, others), by: "NR-LEASE-1",
			says: group + `"other"` + name},
		{name: "update lease of the same name in another namespace: denied",
			write: write("me", admission.Update, "leases", "", elsewhere, elsewhere),
			by:    "NR-LEASE-1", says: group + `"me"` + space},
		{name: "delete own lease: allowed", write: write("me", admission.Delete, "leases", "", nil, mine)},
		{name: "delete other node's lease: denied",
			write: write("me", admission.Delete, "leases", "", nil, others), by: "NR-LEASE-1",
			says: group + `"other"` + name},
		{name: "delete a collection of leases: denied",
			write: write("me", admission.Delete, "leases", "", nil, mine, named("")), by: "NR-LEASE-1",
			says: group + `"Unknown"` + name},
	})
}
