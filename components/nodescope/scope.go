// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

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
