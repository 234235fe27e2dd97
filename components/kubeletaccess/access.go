// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletaccess finds who in a cluster may reach kubelets by nodes/proxy, and
// what each would lose where kubelet-auth-proxy is strict. It reads RBAC objects only
// and talks to nobody.
package kubeletaccess

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

// process are the subresources that let one run something in a pod of the node, or
// reach into it; each takes create.
var process = []string{kubeletauth.SubresourceExec, kubeletauth.SubresourceAttach, kubeletauth.SubresourceRun,
	kubeletauth.SubresourcePortForward}

// others are those that strict mode takes out of nodes/proxy besides.
var others = []string{kubeletauth.SubresourceContainerLogs, kubeletauth.SubresourceDebug}

// throughServer are those that the kubelet never took for nodes/proxy, and that nodes/proxy
// gave through the API server: rule KA-VAP-1 asks for them there.
var throughServer = []string{kubeletauth.SubresourceMetrics, kubeletauth.SubresourceStats, kubeletauth.SubresourceLog}

// theProxy is who kubelet-auth-proxy is to kubelets.
const theProxy = "User bulkhead:kubelet-auth-proxy"

// Holder is somebody who has nodes/proxy.
type Holder struct {
	// Subject is "User alice", "Group x" or "ServiceAccount namespace/name".
	Subject string `json:"subject"`
	// Bindings are the bindings that give it, with their roles: "binding -> role".
	Bindings []string `json:"bindings"`
	// Verbs are those on nodes/proxy, * for all.
	Verbs []string `json:"verbs"`
	// Nodes are the nodes that it is limited to; empty for all.
	Nodes []string `json:"nodes,omitempty"`
	// Wildcard is true if a star, and not the word nodes/proxy, gives it: such a star
	// covers what strict mode asks about as well.
	Wildcard bool `json:"wildcard"`
	// Loses names what nodes/proxy gives now and strict mode would ask for by itself:
	// "exec (create nodes/exec)". Empty if other rules of RBAC give all of it.
	Loses []string `json:"loses"`
}

// Objects are the RBAC objects of a cluster. Bindings in a namespace count for
// nothing: nodes are in none.
type Objects struct {
	Roles    []rbacv1.ClusterRole
	Bindings []rbacv1.ClusterRoleBinding
}

// Find returns every holder of nodes/proxy, in the order of their names. Groups that
// are not in RBAC (system:masters) are not in it.
func Find(o Objects) []Holder {
	roles := map[string][]rbacv1.PolicyRule{}
	for _, r := range o.Roles {
		roles[r.Name] = r.Rules
	}
	type grants struct {
		bindings []string
		rules    []rbacv1.PolicyRule
	}
	all := map[string]*grants{}
	for _, b := range o.Bindings {
		if b.RoleRef.Kind != "ClusterRole" {
			continue
		}
		rules := roles[b.RoleRef.Name]
		for _, s := range b.Subjects {
			name := nameOf(s)
			if all[name] == nil {
				all[name] = &grants{}
			}
			all[name].rules = append(all[name].rules, rules...)
			if len(verbsOn(rules, kubeletauth.SubresourceProxy)) > 0 {
				all[name].bindings = append(all[name].bindings, b.Name+" -> "+b.RoleRef.Name)
			}
		}
	}
	var holders []Holder
	for name, g := range all {
		if len(g.bindings) > 0 {
			slices.Sort(g.bindings)
			holders = append(holders, holder(name, g.bindings, g.rules))
		}
	}
	slices.SortFunc(holders, func(a, b Holder) int { return cmp.Compare(a.Subject, b.Subject) })
	return holders
}

func nameOf(s rbacv1.Subject) string {
	if s.Kind == rbacv1.ServiceAccountKind {
		return s.Kind + " " + s.Namespace + "/" + s.Name
	}
	return s.Kind + " " + s.Name
}

func holder(name string, bindings []string, rules []rbacv1.PolicyRule) Holder {
	h := Holder{Subject: name, Bindings: bindings, Verbs: verbsOn(rules, kubeletauth.SubresourceProxy),
		Nodes: nodesOf(rules), Loses: []string{}}
	for _, r := range rules {
		h.Wildcard = h.Wildcard || slices.Contains(r.Resources, rbacv1.ResourceAll) && covers(r, kubeletauth.SubresourceProxy)
	}
	if name == theProxy {
		return h // it reaches kubelets, which are not strict, and not a proxy
	}
	for _, sub := range process {
		// A websocket begins with GET, so get was enough, and create as well.
		if (has(h.Verbs, "get") || has(h.Verbs, "create")) && !has(verbsOn(rules, sub), "create") {
			h.Loses = append(h.Loses, sub+" (create nodes/"+sub+")")
		}
	}
	for _, sub := range others {
		if has(h.Verbs, "get") && !has(verbsOn(rules, sub), "get") {
			h.Loses = append(h.Loses, sub+" (get nodes/"+sub+")")
		}
	}
	for _, sub := range throughServer {
		if has(h.Verbs, "get") && !has(verbsOn(rules, sub), "get") {
			h.Loses = append(h.Loses, sub+" through the API server (get nodes/"+sub+")")
		}
	}
	return h
}

// covers is true for a rule about a subresource of nodes (plugin/pkg/auth/authorizer
// rbac: resources match whole, or by a star, or by */subresource).
func covers(r rbacv1.PolicyRule, sub string) bool {
	group := slices.Contains(r.APIGroups, "") || slices.Contains(r.APIGroups, rbacv1.APIGroupAll)
	return group && slices.ContainsFunc(r.Resources, func(resource string) bool {
		return resource == rbacv1.ResourceAll || resource == "nodes/"+sub || resource == "*/"+sub
	})
}

func verbsOn(rules []rbacv1.PolicyRule, sub string) []string {
	var verbs []string
	for _, r := range rules {
		if covers(r, sub) {
			verbs = append(verbs, r.Verbs...)
		}
	}
	slices.Sort(verbs)
	if verbs = slices.Compact(verbs); slices.Contains(verbs, rbacv1.VerbAll) {
		return []string{rbacv1.VerbAll}
	}
	return verbs
}

func has(verbs []string, verb string) bool {
	return slices.Contains(verbs, verb) || slices.Contains(verbs, rbacv1.VerbAll)
}

// nodesOf are the nodes that the rules about nodes/proxy name; none if one of them
// names none.
func nodesOf(rules []rbacv1.PolicyRule) []string {
	var nodes []string
	for _, r := range rules {
		if !covers(r, kubeletauth.SubresourceProxy) {
			continue
		}
		if len(r.ResourceNames) == 0 {
			return nil
		}
		nodes = append(nodes, r.ResourceNames...)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// String is one line about what is lost.
func (h Holder) String() string {
	switch {
	case len(h.Loses) > 0:
		return strings.Join(h.Loses, ", ")
	case h.Wildcard && (has(h.Verbs, "get") || has(h.Verbs, "create")):
		return "nothing: a wildcard covers it"
	}
	return "nothing"
}
