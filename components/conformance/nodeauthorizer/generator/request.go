// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Request makes up a question: about what something in the world names, as a
// kubelet asks, or about anything at all.
func (m *Maker) Request() authorizer.AttributesRecord {
	d := m.Dice
	u := d.user()
	if d.OneIn(40) {
		return authorizer.AttributesRecord{User: u, Verb: pick(d, verbs), Path: pick(d, paths)}
	}
	var a authorizer.AttributesRecord
	switch choice := d.IntN(8); {
	case choice < 4 && len(m.existing) > 0:
		var node string
		if a, node = m.named(); node != "" && !d.OneIn(4) {
			u = Node(node)
		}
	case choice < 6:
		a = d.usual()
	default:
		a = d.unusual()
	}
	a.User, a.ResourceRequest, a.APIVersion = u, true, pick(d, versions)
	switch a.Verb {
	case "list", "watch", "deletecollection":
		d.selectSome(&a)
	default:
		if d.OneIn(20) {
			d.selectSome(&a)
		}
	}
	return a
}

// Node is the identity of a node as certificates give it.
func Node(name string) user.Info {
	return &user.DefaultInfo{Name: "system:node:" + name, Groups: []string{user.NodesGroup, user.AllAuthenticated}}
}

var theNodes = []user.Info{Node("n1"), Node("n2"), Node("n3"), Node("n1"), Node("n2"), Node("n3"), Node("n0")}

// oddUsers are no nodes, or nodes that do not say which, or have strange names.
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
	Node("system:node:n1"), Node("n1 "), Node("N1"), Node("n1/n2"), Node("%s%d"), Node("n1\u200b"), Node("'"), Node("\x00\xff"), Node("*"),
	&user.DefaultInfo{Name: "system:node:n1", Groups: []string{"a", user.NodesGroup, user.NodesGroup, user.SystemPrivilegedGroup}},
}

func (d Dice) user() user.Info {
	if d.OneIn(16) {
		return pick(d, oddUsers)
	}
	return pick(d, theNodes)
}

// usual is what a kubelet asks for, on an object of the pools.
func (d Dice) usual() authorizer.AttributesRecord {
	q := pick(d, usualQuestions)
	a := authorizer.AttributesRecord{Verb: pick(d, q.verbs), APIGroup: q.group, Resource: q.resource, Subresource: q.subresource}
	switch {
	case q.resource == "leases":
		a.Namespace = "kube-node-lease"
	case q.namespaced:
		a.Namespace = pick(d, namespaces)
	}
	switch {
	case q.namedAsNode:
		a.Name = pick(d, nodeNames)
	case q.resource == "persistentvolumeclaims":
		a.Name = pick(d, claims)
	default:
		a.Name = pick(d, names)
	}
	return a
}

// unusual puts together what does not belong together.
func (d Dice) unusual() authorizer.AttributesRecord {
	r := pick(d, resources)
	a := authorizer.AttributesRecord{Verb: pick(d, verbs), APIGroup: r.group, Resource: r.name, Namespace: pick(d, anyNamespaces), Name: pick(d, anyNames)}
	if d.OneIn(30) {
		a.APIGroup = pick(d, resources).group
	}
	if d.OneIn(4) {
		a.Subresource = pick(d, subresources)
	}
	if d.OneIn(10) {
		a.Verb = pick(d, oddVerbs)
	}
	return a
}
