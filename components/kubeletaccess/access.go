// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletaccess finds the subjects in a cluster that may reach kubelets through
// nodes/proxy. It also finds what each of them loses if kubelet-auth-proxy is strict. It reads only
// RBAC objects and sends no requests.
package kubeletaccess

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

// process are the subresources that run something in a pod of the node or connect to it. Each needs
// the verb create.
var process = []string{kubeletauth.SubresourceExec, kubeletauth.SubresourceAttach, kubeletauth.SubresourceRun,
	kubeletauth.SubresourcePortForward}

// others are the other subresources that nodes/proxy does not include in strict mode.
var others = []string{kubeletauth.SubresourceContainerLogs, kubeletauth.SubresourceDebug}

// throughServer are the subresources that the kubelet never included in nodes/proxy. nodes/proxy
// gives access to them through the API server. There, rule KA-VAP-1 checks them.
var throughServer = []string{kubeletauth.SubresourceMetrics, kubeletauth.SubresourceStats, kubeletauth.SubresourceLog}

// theProxy is the subject with which kubelet-auth-proxy sends requests to kubelets.
const theProxy = "User bulkhead:kubelet-auth-proxy"

// Grantee is a subject that has nodes/proxy.
type Grantee struct {
	// Subject is "User alice", "Group x" or "ServiceAccount namespace/name".
	Subject string `json:"subject"`
	// Bindings are the bindings that grant it, with their roles: "binding -> role".
	Bindings []string `json:"bindings"`
	// Verbs are the verbs on nodes/proxy, or * for all verbs.
	Verbs []string `json:"verbs"`
	// Nodes are the nodes to which the permission is limited. It is empty for all nodes.
	Nodes []string `json:"nodes,omitempty"`
	// Wildcard is true if a resource wildcard * grants it, not the resource nodes/proxy. Such a
	// wildcard also covers the subresources that strict mode checks.
	Wildcard bool `json:"wildcard"`
	// Loses lists what nodes/proxy grants now and strict mode checks separately: "exec (create
	// nodes/exec)". It is empty if other RBAC rules grant all of it.
	Loses []string `json:"loses"`
}

// Objects are the RBAC objects of a cluster. RoleBindings are not needed, because nodes have no
// namespace.
type Objects struct {
	Roles    []rbacv1.ClusterRole
	Bindings []rbacv1.ClusterRoleBinding
}

// Find returns every holder of nodes/proxy, sorted by subject. Groups without RBAC objects
// (system:masters) are not included.
func Find(o Objects) []Grantee {
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
	var grantees []Grantee
	for name, g := range all {
		if len(g.bindings) > 0 {
			slices.Sort(g.bindings)
			grantees = append(grantees, granteeOf(name, g.bindings, g.rules))
		}
	}
	slices.SortFunc(grantees, func(a, b Grantee) int { return cmp.Compare(a.Subject, b.Subject) })
	return grantees
}

func nameOf(s rbacv1.Subject) string {
	if s.Kind == rbacv1.ServiceAccountKind {
		return s.Kind + " " + s.Namespace + "/" + s.Name
	}
	return s.Kind + " " + s.Name
}

func granteeOf(name string, bindings []string, rules []rbacv1.PolicyRule) Grantee {
	h := Grantee{Subject: name, Bindings: bindings, Verbs: verbsOn(rules, kubeletauth.SubresourceProxy),
		Nodes: nodesOf(rules), Loses: []string{}}
	for _, r := range rules {
		h.Wildcard = h.Wildcard || slices.Contains(r.Resources, rbacv1.ResourceAll) && covers(r, kubeletauth.SubresourceProxy)
	}
	if name == theProxy {
		return h // it connects to kubelets, which are not strict, and not to a proxy
	}
	for _, sub := range process {
		// A WebSocket connection starts with GET, so without strict mode either get or create is
		// enough.
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

// covers reports whether a rule matches a subresource of nodes. As in
// plugin/pkg/auth/authorizer/rbac, a resource matches exactly, as *, or as */subresource.
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

// nodesOf returns the nodes that the rules about nodes/proxy name. It returns none if one of these
// rules has no resource names, because that rule covers all nodes.
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

// String returns one line about what is lost.
func (h Grantee) String() string {
	switch {
	case len(h.Loses) > 0:
		return strings.Join(h.Loses, ", ")
	case h.Wildcard && (has(h.Verbs, "get") || has(h.Verbs, "create")):
		return "nothing: a wildcard covers it"
	}
	return "nothing"
}
