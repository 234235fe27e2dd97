// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "sync/atomic"

const (
	// unruledKept is how many reasons of one rule are kept: a cluster's nodes ask for
	// the same few things that no rule gives them.
	unruledKept = 16
	// longestUnruled is the longest reason that is kept, in bytes: whoever may ask
	// about others could fill the memory with longer ones.
	longestUnruled = 256

	noRuleAllows = "no rule allows a node to "
)

// unruled keeps the reasons of what a rule does not give. Upstream has no reason
// for these, and so has none to make. Each takes the place of another. It is safe
// for concurrent use.
type unruled [unruledKept]atomic.Pointer[unruledReason]

// unruledReason quotes a request. All of its strings are parts of the reason, so that
// nothing of a request is kept.
type unruledReason struct {
	reason, verb, resource, group, subresource string
}

// noRule refuses where upstream gives no reason.
func noRule(r *rule, a *request) verdict {
	place := &r.unruled[(len(a.Verb)+len(a.Resource)+4*len(a.Subresource)+8*len(a.APIGroup))%unruledKept]
	if made := place.Load(); made != nil && made.quotes(a) {
		return refuseBy(r, made.reason)
	}
	made := makeUnruled(r, a)
	if len(made.reason) <= longestUnruled {
		place.Store(made)
	}
	return refuseBy(r, made.reason)
}

func (u *unruledReason) quotes(a *request) bool {
	return u.resource == a.Resource && u.verb == a.Verb && u.subresource == a.Subresource && u.group == a.APIGroup
}

func makeUnruled(r *rule, a *request) *unruledReason {
	reason := noRuleAllows + a.Verb + " " + a.Resource
	if a.APIGroup != "" {
		reason += "." + a.APIGroup
	}
	if a.Subresource != "" {
		reason += "/" + a.Subresource
	}
	reason += r.end
	made := &unruledReason{reason: reason}
	rest := reason[len(noRuleAllows):]
	made.verb, rest = rest[:len(a.Verb)], rest[len(a.Verb)+1:]
	made.resource, rest = rest[:len(a.Resource)], rest[len(a.Resource):]
	if a.APIGroup != "" {
		made.group, rest = rest[1:1+len(a.APIGroup)], rest[1+len(a.APIGroup):]
	}
	if a.Subresource != "" {
		made.subresource = rest[1 : 1+len(a.Subresource)]
	}
	return made
}
