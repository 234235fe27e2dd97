// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"strings"
)

// ScopeAnnotation names, on a ServiceAccount or on a pod, the resources on which pods
// are held to their nodes ([ParseScope]). A pod's adds to its account's.
const ScopeAnnotation = "bulkhead.dev/node-scoped-resources"

// Scope is a set of resources on which a pod is held to its node. The zero value, and
// nil, hold it on none. A Scope does not change, and is safe for concurrent use.
type Scope struct {
	everything bool
	// groups are held with all their resources and subresources.
	groups map[string]struct{}
	// named are single resources and subresources, and, with [everySubresource], resources
	// with all that they have.
	named map[Resource]struct{}
}

// Everything is the scope of who is held to its node on all that a scope can hold. It
// is also that of a value that nobody understands: it must not be wider than meant.
func Everything() *Scope { return &Scope{everything: true} }

// IsEverything reports whether the scope is that of [Everything].
func (s *Scope) IsEverything() bool { return s != nil && s.everything }

// IsEmpty reports whether the scope holds nobody to anything.
func (s *Scope) IsEmpty() bool {
	return s == nil || !s.everything && len(s.groups) == 0 && len(s.named) == 0
}

// Covers reports whether the resource is in the scope. Questions about the caller's own
// rights never are. What a review asks of "*", which is no resource, is in every scope
// that could mean a part of it. It does not allocate.
func (s *Scope) Covers(r Resource) bool {
	switch {
	case s.IsEmpty() || isSelfReview(r):
		return false
	case s.everything || r.Group == "*" || r.Resource == "*" || r.Subresource == "*":
		return true
	}
	if _, held := s.groups[r.Group]; held {
		return true
	}
	if _, held := s.named[r]; held {
		return true
	}
	_, held := s.named[r.withEverySubresource()]
	return held
}

// Union holds what any of the scopes holds. It is nil if none holds anything.
func Union(all ...*Scope) *Scope {
	held := &Scope{}
	for _, s := range all {
		if s.IsEmpty() {
			continue
		}
		held.everything = held.everything || s.everything
		for group := range s.groups {
			held.withGroup(group)
		}
		for r := range s.named {
			held.with(r)
		}
	}
	if held.IsEmpty() {
		return nil
	}
	return held
}

// with has the scope, which nobody else knows yet, hold the resource.
func (s *Scope) with(r Resource) {
	if s.named == nil {
		s.named = map[Resource]struct{}{}
	}
	s.named[r] = struct{}{}
	for _, pair := range doors {
		for i, door := range pair {
			if r != door && r != door.withEverySubresource() {
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

// withGroup has it hold all of a group. The other doors to what is in the
// group are held as well.
func (s *Scope) withGroup(group string) {
	if s.groups == nil {
		s.groups = map[string]struct{}{}
	}
	s.groups[group] = struct{}{}
	for _, pair := range doors {
		if pair[0].Group == group || pair[1].Group == group {
			s.with(pair[0].withEverySubresource())
		}
	}
}

// scopes are what several annotations hold together.
type scopes [2]*Scope

func (s scopes) covers(r Resource) bool { return s[0].Covers(r) || s[1].Covers(r) }
func (s scopes) isEmpty() bool          { return s[0].IsEmpty() && s[1].IsEmpty() }

// Resource is a resource, or a subresource, of one API group, in all its versions.
type Resource struct {
	Group, Resource, Subresource string
}

// String is the resource as an annotation names it: "leases.coordination.k8s.io",
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

// withEverySubresource is the resource, or what the subresource belongs to, with all
// subresources.
func (r Resource) withEverySubresource() Resource {
	r.Subresource = everySubresource
	return r
}

// asked is the resource that a request is for. A review may have the subresource
// behind a slash, where RBAC finds it too.
func asked(a *request) Resource {
	r := Resource{Group: a.APIGroup, Resource: a.Resource, Subresource: a.Subresource}
	if r.Subresource == "" && strings.IndexByte(r.Resource, '/') >= 0 {
		r.Resource, r.Subresource, _ = strings.Cut(r.Resource, "/")
	}
	return r
}

// isSelfReview reports whether the resource is a question about the caller's own
// identity and rights. It is never held to a node: it shows nothing of anybody else.
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

// doors lead to the same objects: who names one of a pair in a scope means both.
//
// Source: pkg/registry/core/rest/storage_core.go and pkg/registry/events/rest: events of
// both groups are one store; pkg/registry/core/pod/storage: a binding is a pod's.
var doors = [][2]Resource{
	{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}},
	{{Resource: "bindings"}, {Resource: "pods", Subresource: "binding"}},
}
