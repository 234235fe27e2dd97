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

// Suggestion is a scope, and why it is no wider.
type Suggestion struct {
	// Annotation is the value of [nodescope.ScopeAnnotation]; empty if there is no scope
	// under which everything that was seen passes.
	Annotation string `json:"annotation"`
	// Resources are all that were seen or granted by name.
	Resources []Resource `json:"resources"`
	// Wildcards are what RBAC gives without naming it: of those, only what was seen can
	// be in the scope.
	Wildcards []string `json:"wildcards,omitempty"`
	// Impersonates are those whom the account was seen to be and may not be with a scope
	// of whatever size; then there is no annotation.
	Impersonates []string `json:"impersonates,omitempty"`
	// Unscoped are requests that were seen and that no account with a scope may make,
	// whatever resources the scope names; then there is no annotation.
	Unscoped []string `json:"unscoped,omitempty"`
	// Written is how many writes of what is in the scope were seen. What was written
	// nobody has looked at, unless the account was in audit.
	Written int `json:"written"`
}

// Resource is one with what was seen of it.
type Resource struct {
	Name string `json:"name"`
	// Seen requests passed, and Beyond of them would not have passed in a scope.
	Seen   int `json:"seen"`
	Beyond int `json:"beyond"`
	// Held is true if it is in the scope.
	Held bool `json:"held"`
	// Stops are the verbs that RBAC gives and that the scope takes away, but for what
	// belongs to the own node.
	Stops []string `json:"stops,omitempty"`
	// Why says what keeps it out of the scope.
	Why string `json:"why,omitempty"`
}

// Suggest works out the scope. The error says that it would be too long to be one.
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
		out := Resource{Name: r.String(), Seen: at.seen, Beyond: at.beyond, Why: why}
		if out.Held = why == "" && hasScope; out.Held {
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

// entry is how the annotation names the resource, or why it cannot be in the scope. A name
// may stand for more than one resource, of which none may have been used beyond the node:
// where a subresource was, the resource is named without its subresources.
func (s *Suggester) entry(r nodescope.Resource, at *row) (entry, why string) {
	if at.beyond > 0 {
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

// keepsOut says why the entry cannot be in the annotation; empty if it can.
func (s *Suggester) keepsOut(entry string) string {
	scope, err := nodescope.ParseScope(entry)
	if err != nil {
		return err.Error()
	}
	for other, of := range s.rows {
		if of.beyond > 0 && scope.Covers(other) {
			return "it is the same as " + other.String() + ", which is used beyond the node"
		}
	}
	return ""
}

// withoutCovered leaves out the subresources of resources that are named with all theirs.
func withoutCovered(entries []string) []string {
	return slices.DeleteFunc(slices.Clone(entries), func(entry string) bool {
		resource, subresource, _ := strings.Cut(entry, "/")
		return subresource != "" && subresource != "-" && slices.Contains(entries, resource)
	})
}

// stops are the granted verbs that the scope would deny about a stranger's object.
func (s *Suggester) stops(ctx context.Context, r nodescope.Resource, at *row) []string {
	var stopped []string
	for _, verb := range slices.Sorted(maps.Keys(at.granted)) {
		if s.refusal(ctx, s.stranger(s.node, verb, at.granted[verb], r)) != "" {
			stopped = append(stopped, verb)
		}
	}
	return stopped
}
