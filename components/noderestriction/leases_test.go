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
		{name: "a node creates its lease", write: write("me", admission.Create, "leases", "", mine, nil)},
		{name: "and no other", write: write("me", admission.Create, "leases", "", others, nil), by: "NR-LEASE-1",
			says: group + `"other"` + name},
		{name: "nor one in another namespace", write: write("me", admission.Create, "leases", "", elsewhere, nil),
			by: "NR-LEASE-1", says: group + `"me"` + space},
		{name: "nor one of a made-up name", write: write("me", admission.Create, "leases", "", generated, nil),
			by: "NR-LEASE-1", says: group + `"me-x7k2p"` + name},
		{name: "nor what is no lease",
			write: write("me", admission.Create, "leases", "", aNode("me"), nil, in("kube-node-lease")), by: "NR-LEASE-1",
			says: group + `"me" is forbidden: unexpected type *v1.Node [NR-LEASE-1]`},
		{name: "nor nothing", write: write("me", admission.Create, "leases", "", nil, nil, in("kube-node-lease"),
			named("me")), by: "NR-LEASE-1", says: group + `"me" is forbidden: unexpected type <nil> [NR-LEASE-1]`},
		{name: "a node renews its lease", write: write("me", admission.Update, "leases", "", mine, mine)},
		{name: "and no other's", write: write("me", admission.Update, "leases", "", others, others), by: "NR-LEASE-1",
			says: group + `"other"` + name},
		{name: "nor its namesake elsewhere", write: write("me", admission.Update, "leases", "", elsewhere, elsewhere),
			by: "NR-LEASE-1", says: group + `"me"` + space},
		{name: "a node deletes its lease", write: write("me", admission.Delete, "leases", "", nil, mine)},
		{name: "and no other's", write: write("me", admission.Delete, "leases", "", nil, others), by: "NR-LEASE-1",
			says: group + `"other"` + name},
		{name: "nor many at once, which have no name",
			write: write("me", admission.Delete, "leases", "", nil, mine, named("")), by: "NR-LEASE-1",
			says: group + `"Unknown"` + name},
	})
}
