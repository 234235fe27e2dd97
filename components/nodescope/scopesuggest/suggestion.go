// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// Suggestion is a scope, with the reasons why it is not wider.
type Suggestion struct {
	// Annotation is the value of [nodescope.ScopeAnnotation]. It is empty if no scope would
	// permit every request that was seen.
	Annotation string `json:"annotation"`
	// Resources are all resources that were seen, or that RBAC grants by name.
	Resources []Resource `json:"resources"`
	// Wildcards are the RBAC grants with a wildcard. Of their resources, only those that were
	// seen can be in the scope.
	Wildcards []string `json:"wildcards,omitempty"`
	// Impersonates are the users that the account impersonated and that an account with any
	// scope must not impersonate. If there are any, there is no annotation.
	Impersonates []string `json:"impersonates,omitempty"`
	// Unscoped are requests that were seen and that an account with any scope must not make. If
	// there are any, there is no annotation.
	Unscoped []string `json:"unscoped,omitempty"`
	// Written is the number of writes to resources in the scope that were seen. The contents of
	// these writes were not checked, unless the account was in audit mode.
	Written int `json:"written"`
}

// Resource is a resource with the requests for it that were seen.
type Resource struct {
	Name string `json:"name"`
	// Seen is the number of permitted requests. OtherNodes is how many of them a scope would deny.
	Seen       int `json:"seen"`
	OtherNodes int `json:"beyond"`
	// InScope is true if the resource is in the scope.
	InScope bool `json:"held"`
	// Stops are the verbs that RBAC grants and that the scope denies, except on objects of the
	// pod's own node.
	Stops []string `json:"stops,omitempty"`
	// Why is the reason why the resource is not in the scope.
	Why string `json:"why,omitempty"`
}

// Suggest computes the scope. It returns an error if the value would be too long.
func (s *Suggester) Suggest(ctx context.Context) (Suggestion, error) {
	result := Suggestion{
		Wildcards: slices.Sorted(maps.Keys(s.wildcards)), Impersonates: slices.Sorted(maps.Keys(s.impersonates)),
		Unscoped: slices.Sorted(maps.Keys(s.unscoped)), Resources: []Resource{},
	}
	hasScope := len(s.impersonates) == 0 && len(s.unscoped) == 0
	var entries []string
	for _, r := range slices.SortedFunc(maps.Keys(s.rows),
		func(a, b nodescope.Resource) int { return strings.Compare(a.String(), b.String()) }) {
		at := s.rows[r]
		entry, why := s.entry(r, at)
		out := Resource{Name: r.String(), Seen: at.seen, OtherNodes: at.otherNodes, Why: why}
		if out.InScope = why == "" && hasScope; out.InScope {
			out.Stops = s.stops(ctx, r, at)
			result.Written += at.written
			entries = append(entries, entry)
		}
		result.Resources = append(result.Resources, out)
	}
	result.Annotation = strings.Join(withoutCovered(entries), ",")
	if _, err := nodescope.ParseScope(result.Annotation); err != nil {
		return result, fmt.Errorf("there is too much to name: %w", err)
	}
	return result, nil
}

// entry returns the name of the resource in the annotation, or why it cannot be in the scope. A
// name may stand for several resources. None of them may have been used for objects outside the
// node. If a subresource was, the resource is named without its subresources.
func (s *Suggester) entry(r nodescope.Resource, at *row) (entry, why string) {
	if at.otherNodes > 0 {
		return "", at.why
	}
	entry = r.String()
	if why = s.keepsOut(entry); why == "" {
		return entry, ""
	}
	if alone := entry + "/-"; r.Subresource == "" && s.keepsOut(alone) == "" {
		return alone, ""
	}
	return "", why
}

// keepsOut returns why the entry cannot be in the annotation; empty if it can.
func (s *Suggester) keepsOut(entry string) string {
	scope, err := nodescope.ParseScope(entry)
	if err != nil {
		return err.Error()
	}
	for other, of := range s.rows {
		if of.otherNodes > 0 && scope.Covers(other) {
			return "it is the same as " + other.String() + ", which is used beyond the node"
		}
	}
	return ""
}

// withoutCovered removes a subresource if the list also names its resource with all
// subresources.
func withoutCovered(entries []string) []string {
	return slices.DeleteFunc(slices.Clone(entries), func(entry string) bool {
		resource, subresource, _ := strings.Cut(entry, "/")
		return subresource != "" && subresource != "-" && slices.Contains(entries, resource)
	})
}

// stops returns the granted verbs that the scope would deny on an object that belongs to no
// known node.
func (s *Suggester) stops(ctx context.Context, r nodescope.Resource, at *row) []string {
	var stopped []string
	for _, verb := range slices.Sorted(maps.Keys(at.granted)) {
		if s.refusal(ctx, s.stranger(s.node, verb, at.granted[verb], r)) != "" {
			stopped = append(stopped, verb)
		}
	}
	return stopped
}
