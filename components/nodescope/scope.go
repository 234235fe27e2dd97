// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"strings"
)

// ScopeAnnotation is the annotation of a ServiceAccount or a pod that names the resources on
// which pods are limited to their nodes ([ParseScope]). The scope of a pod is added to the
// scope of its account.
const ScopeAnnotation = "bulkhead.dev/node-scoped-resources"

// Scope is a set of resources on which a pod is limited to its node. The zero value and nil
// contain no resource. A Scope is immutable, and safe for concurrent use.
type Scope struct {
	everything bool
	// groups are API groups of which all resources and subresources are in the scope.
	groups map[string]struct{}
	// named are single resources and subresources. An entry with [everySubresource] stands for
	// a resource and all its subresources.
	named map[Resource]struct{}
}

// Everything returns the scope that contains every resource that a scope can contain. It is
// also the scope of a value that cannot be parsed, so that a mistake never permits more than
// the owner intended.
func Everything() *Scope { return &Scope{everything: true} }

// IsEverything reports whether the scope is that of [Everything].
func (s *Scope) IsEverything() bool { return s != nil && s.everything }

// IsEmpty reports whether the scope contains no resource.
func (s *Scope) IsEmpty() bool {
	return s == nil || !s.everything && len(s.groups) == 0 && len(s.named) == 0
}

// Covers reports whether the resource is in the scope. Self reviews never are. A review may ask
// about "*", which is not a resource: it is in every scope that is not empty.
func (s *Scope) Covers(r Resource) bool {
	switch {
	case s.IsEmpty() || isSelfReview(r):
		return false
	case s.everything || r.Group == "*" || r.Resource == "*" || r.Subresource == "*":
		return true
	}
	if _, found := s.groups[r.Group]; found {
		return true
	}
	if _, found := s.named[r]; found {
		return true
	}
	_, found := s.named[r.withEverySubresource()]
	return found
}

// Union returns the scope that contains the resources of all the scopes. It is nil if all of
// them are empty.
func Union(all ...*Scope) *Scope {
	found := &Scope{}
	for _, s := range all {
		if s.IsEmpty() {
			continue
		}
		found.everything = found.everything || s.everything
		for group := range s.groups {
			found.withGroup(group)
		}
		for r := range s.named {
			found.with(r)
		}
	}
	if found.IsEmpty() {
		return nil
	}
	return found
}

// with adds the resource to a scope that is not yet shared. It also adds the resource's alias,
// if there is one.
func (s *Scope) with(r Resource) {
	if s.named == nil {
		s.named = map[Resource]struct{}{}
	}
	s.named[r] = struct{}{}
	for _, pair := range aliases {
		for i, alias := range pair {
			if r != alias && r != alias.withEverySubresource() {
				continue
			}
			other := pair[1-i]
			if r.Subresource == everySubresource && other.Subresource == "" {
				other = other.withEverySubresource()
			}
			s.named[other] = struct{}{}
		}
	}
}

// withGroup adds all resources of a group to the scope. It also adds the aliases of resources
// in the group.
func (s *Scope) withGroup(group string) {
	if s.groups == nil {
		s.groups = map[string]struct{}{}
	}
	s.groups[group] = struct{}{}
	for _, pair := range aliases {
		if pair[0].Group == group || pair[1].Group == group {
			s.with(pair[0].withEverySubresource())
		}
	}
}

// scopes are the scopes of several annotations. A resource is covered if one of them covers it.
type scopes [2]*Scope

func (s scopes) covers(r Resource) bool { return s[0].Covers(r) || s[1].Covers(r) }
func (s scopes) isEmpty() bool          { return s[0].IsEmpty() && s[1].IsEmpty() }

// Resource is a resource, or a subresource, of one API group, in all its versions.
type Resource struct {
	Group, Resource, Subresource string
}

// String returns the resource as an annotation names it: "leases.coordination.k8s.io",
// "nodes/status".
func (r Resource) String() string {
	name := r.Resource
	if r.Group != "" {
		name += "." + r.Group
	}
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	return name
}

// everySubresource stands, in a scope, for a resource and all its subresources.
const everySubresource = "*"

// withEverySubresource returns the resource with [everySubresource] as its subresource.
func (r Resource) withEverySubresource() Resource {
	r.Subresource = everySubresource
	return r
}

// asked returns the resource of a request. A SubjectAccessReview may put the subresource into
// the resource, after a slash. RBAC accepts that form too.
func asked(a *request) Resource {
	r := Resource{Group: a.APIGroup, Resource: a.Resource, Subresource: a.Subresource}
	if r.Subresource == "" && strings.IndexByte(r.Resource, '/') >= 0 {
		r.Resource, r.Subresource, _ = strings.Cut(r.Resource, "/")
	}
	return r
}

// isSelfReview reports whether the resource is a review of the user's own identity or
// permissions. Such a review is never in a scope, because it shows nothing about other users.
//
// Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go system:basic-user.
func isSelfReview(r Resource) bool {
	switch r.Group {
	case "authorization.k8s.io":
		return r.Resource == "selfsubjectaccessreviews" || r.Resource == "selfsubjectrulesreviews"
	case "authentication.k8s.io":
		return r.Resource == "selfsubjectreviews"
	}
	return false
}

// aliases are pairs of aliases: two resources that give access to the same objects. If a scope
// names one of a pair, it contains both.
//
// Source: pkg/registry/core/rest/storage_core.go and pkg/registry/events/rest: events of both
// groups are one store; pkg/registry/core/pod/storage: a Binding is a subresource of a pod.
var aliases = [][2]Resource{
	{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}},
	{{Resource: "bindings"}, {Resource: "pods", Subresource: "binding"}},
}
