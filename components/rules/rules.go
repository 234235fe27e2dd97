// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package rules defines what a rule of Bulkhead is. Every rule has an ID. The ID appears in the
// code, in the reason of a denial, and in the spec that tests the rule.
//
// Every policy package lists its rules in one table. IDs are never reused and never renumbered.
package rules

import "strings"

// ID names one rule, for example "NA-LEASE-3". The first part is the component:
//
//   - NA: node authorizer
//   - NR: NodeRestriction
//   - KA: kubelet API
//   - NS: node scope
type ID string

// Rule is one statement about what a component allows and denies.
type Rule struct {
	// ID is unique among all components.
	ID ID
	// Description is one sentence. A reader can check Bulkhead against it.
	Description string
	// Source is the origin of the rule: an upstream file and function, a KEP, an RFC, or a design
	// proposal.
	Source string
	// Extension is true for a rule that the in-tree components do not have. Such a rule cannot be
	// checked against them.
	Extension bool
	// Optional is true for an extension that an administrator can enforce, audit or switch off (see
	// [Mode]), with all optional rules or by its ID.
	Optional bool
	// Configured is true for an extension that applies only where the operator's configuration
	// enables it. There it is enforced, unless an administrator sets its mode to Audit.
	Configured bool
	// Audited is true for an optional rule that is enforced only if the operator names it. If the
	// operator enforces all rules, this one is audited, because it denies requests that clusters
	// commonly make (docs/differences.md).
	Audited bool
}

// HasMode reports whether an administrator can set the mode of the rule by its ID. Other rules are
// always enforced.
func (r Rule) HasMode() bool { return r.Optional || r.Configured }

// Reason returns the text that a caller sees: the text, which is upstream's where upstream has one,
// then the ID in brackets. For an empty text it returns only the ID in brackets, as in decisions
// that allow.
func (r Rule) Reason(text string) string {
	if text == "" {
		return "[" + string(r.ID) + "]"
	}
	return text + " [" + string(r.ID) + "]"
}

// FromReason returns the ID at the end of a reason that [Rule.Reason] made. It returns false if the
// reason does not end in an ID.
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
