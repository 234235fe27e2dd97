// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package rules defines what a rule of Bulkhead is: an ID that travels from the
// code through the reason a refused caller reads to the spec that proves it.
//
// Every policy package lists its rules in one table of its own. IDs are never
// reused and never renumbered.
package rules

import "strings"

// ID names one rule, for example "NA-LEASE-3".
// The first part is the component: NA node authorizer, NR NodeRestriction,
// KA kubelet API, NS node scope.
type ID string

// Rule is one statement about what a component allows and denies.
type Rule struct {
	// ID is unique among all components.
	ID ID
	// Description is one sentence that a reader can check Bulkhead against.
	Description string
	// Source is where the rule comes from: an upstream file and function, a KEP,
	// an RFC, or a design proposal.
	Source string
	// Extension is true for a rule that the in-tree components do not have, so
	// that it cannot be checked against them.
	Extension bool
	// Optional is true for an extension that an administrator may have enforced,
	// audited or switched off ([Mode]). Other rules are always enforced.
	Optional bool
	// Configured is true for an extension that is in force only where the operator's
	// configuration says so.
	Configured bool
	// Audited is true for an optional rule that is enforced only where it is named:
	// where all are enforced it is audited, because it breaks what clusters do
	// (docs/differences.md).
	Audited bool
}

// Reason is the text that a caller sees: upstream's words, then the ID.
// An empty text gives the bare ID, as decisions that allow carry it.
func (r Rule) Reason(text string) string {
	if text == "" {
		return "[" + string(r.ID) + "]"
	}
	return text + " [" + string(r.ID) + "]"
}

// FromReason finds the ID at the end of a reason made by [Rule.Reason].
// It does not allocate.
func FromReason(reason string) (ID, bool) {
	if !strings.HasSuffix(reason, "]") {
		return "", false
	}
	open := strings.LastIndexByte(reason, '[')
	if open < 0 {
		return "", false
	}
	id := reason[open+1 : len(reason)-1]
	return ID(id), id != ""
}
