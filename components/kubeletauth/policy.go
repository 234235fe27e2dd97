// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"fmt"
	"maps"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// ParseMode reads compat or strict, in lower case. The error says what was given
// and what can be.
func ParseMode(text string) (Mode, error) {
	switch text {
	case Compat.String():
		return Compat, nil
	case Strict.String():
		return Strict, nil
	}
	return Strict, fmt.Errorf("%q is no mode: it must be compat or strict", text)
}

// String is the mode as [ParseMode] reads it.
func (m Mode) String() string {
	if m == Compat {
		return "compat"
	}
	return "strict"
}

// Policy is a [Mode] in which single optional rules are in another mode of their
// own. It is safe for concurrent use.
type Policy struct {
	mode  Mode
	modes map[rules.ID]rules.Mode
}

// NewPolicy makes a policy. The optional rules that single does not name are
// enforced in Strict, and off in Compat.
func NewPolicy(mode Mode, single map[rules.ID]rules.Mode) *Policy {
	all := rules.Enforce
	if mode == Compat {
		all = rules.Off
	}
	p := &Policy{mode: mode, modes: rules.Modes(Rules, all)}
	maps.Copy(p.modes, single)
	return p
}

// ModeOf is what an optional rule does; rules that are not optional are enforced.
// It is for rules that other packages enforce, too.
func (p *Policy) ModeOf(id rules.ID) rules.Mode {
	if mode, ok := p.modes[id]; ok {
		return mode
	}
	return rules.Enforce
}

// Map is [Mode.Map] with the rules in their modes. A rule that is off leaves the
// request to the kubelet's own mapping, and so does one that is audited; then
// audited is what it would have asked for if it were enforced, and otherwise
// without attempts.
func (p *Policy) Map(r Request) (enforced, audited Mapping, refusal *rules.Decision) {
	mapping, refusal := Strict.Map(r)
	if refusal != nil {
		return Mapping{}, Mapping{}, refusal
	}
	mode, optional := p.modes[mapping.Rule]
	switch {
	case optional && mode == rules.Enforce, !optional && p.mode == Strict:
		return mapping, Mapping{}, nil
	case optional && mode == rules.Audit:
		audited = mapping
	}
	enforced, refusal = Compat.Map(r)
	return enforced, audited, refusal
}
