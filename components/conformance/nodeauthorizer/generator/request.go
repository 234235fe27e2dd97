// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// Request returns a random request: for an object that the cluster names, as a kubelet requests it,
// or for anything else.
func (m *Generator) Request() authorizer.AttributesRecord {
	rng := m.RNG
	u := randomUser(rng)
	if rng.OneIn(40) {
		return authorizer.AttributesRecord{User: u, Verb: harness.Pick(rng, verbs), Path: harness.Pick(rng, paths)}
	}
	var a authorizer.AttributesRecord
	switch choice := rng.IntN(8); {
	case choice < 4 && len(m.existing) > 0:
		var node string
		if a, node = m.named(); node != "" && !rng.OneIn(4) {
			u = Node(node)
		}
	case choice < 6:
		a = usualRequest(rng)
	default:
		a = unusualRequest(rng)
	}
	a.User, a.ResourceRequest, a.APIVersion = u, true, harness.Pick(rng, versions)
	switch a.Verb {
	case "list", "watch", "deletecollection":
		selectSome(rng, &a)
	default:
		if rng.OneIn(20) {
			selectSome(rng, &a)
		}
	}
	return a
}

// Node returns the user of a node, as in its client certificate.
func Node(name string) user.Info {
	return &user.DefaultInfo{Name: "system:node:" + name, Groups: []string{user.NodesGroup, user.AllAuthenticated}}
}

var theNodes = []user.Info{Node("n1"), Node("n2"), Node("n3"), Node("n1"), Node("n2"), Node("n3"), Node("n0")}

// oddUsers are users that are not nodes, nodes without a node name, and nodes with unusual names.
var oddUsers = []user.Info{
	nil,
	&user.DefaultInfo{},
	&user.DefaultInfo{Name: "system:node:", Groups: []string{user.NodesGroup}},
	&user.DefaultInfo{Name: "system:node:n1"},
	&user.DefaultInfo{Name: "system:node:n1", Groups: []string{"system:node", "system:nodes2", "System:Nodes"}},
	&user.DefaultInfo{Name: "n1", Groups: []string{user.NodesGroup}},
	&user.DefaultInfo{Name: "System:Node:n1", Groups: []string{user.NodesGroup}},
	&user.DefaultInfo{Name: "x:system:node:n1", Groups: []string{user.NodesGroup}},
	&user.DefaultInfo{Name: "system:nodes:n1", Groups: []string{user.NodesGroup}},
	&user.DefaultInfo{Name: "system:serviceaccount:ns1:a", Groups: []string{"system:serviceaccounts"}},
	&user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup}},
	Node(
		"system:node:n1",
	),
	Node("n1 "),
	Node("N1"),
	Node("n1/n2"),
	Node("%s%d"),
	Node("n1\u200b"),
	Node("'"),
	Node("\x00\xff"),
	Node("*"),
	&user.DefaultInfo{
		Name:   "system:node:n1",
		Groups: []string{"a", user.NodesGroup, user.NodesGroup, user.SystemPrivilegedGroup},
	},
}

func randomUser(rng harness.RNG) user.Info {
	if rng.OneIn(16) {
		return harness.Pick(rng, oddUsers)
	}
	return harness.Pick(rng, theNodes)
}

// usualRequest returns a request as kubelets make it, for an object from the pools.
func usualRequest(rng harness.RNG) authorizer.AttributesRecord {
	q := harness.Pick(rng, usualQuestions)
	a := authorizer.AttributesRecord{
		Verb:        harness.Pick(rng, q.verbs),
		APIGroup:    q.group,
		Resource:    q.resource,
		Subresource: q.subresource,
	}
	switch {
	case q.resource == "leases":
		a.Namespace = "kube-node-lease"
	case q.namespaced:
		a.Namespace = harness.Pick(rng, namespaces)
	}
	switch {
	case q.namedAsNode:
		a.Name = harness.Pick(rng, nodeNames)
	case q.resource == "persistentvolumeclaims":
		a.Name = harness.Pick(rng, claims)
	default:
		a.Name = harness.Pick(rng, names)
	}
	return a
}

// unusualRequest combines attributes that do not belong together.
func unusualRequest(rng harness.RNG) authorizer.AttributesRecord {
	r := harness.Pick(rng, resources)
	a := authorizer.AttributesRecord{
		Verb:      harness.Pick(rng, verbs),
		APIGroup:  r.group,
		Resource:  r.name,
		Namespace: harness.Pick(rng, anyNamespaces),
		Name:      harness.Pick(rng, anyNames),
	}
	if rng.OneIn(30) {
		a.APIGroup = harness.Pick(rng, resources).group
	}
	if rng.OneIn(4) {
		a.Subresource = harness.Pick(rng, subresources)
	}
	if rng.OneIn(10) {
		a.Verb = harness.Pick(rng, oddVerbs)
	}
	return a
}
