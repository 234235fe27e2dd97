// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"fmt"
	"maps"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Mode says which rights a request to the kubelet's API needs.
type Mode int

// The modes. The zero value is Compat.
const (
	// Compat asks for what the kubelet of Kubernetes 1.37 asks for.
	Compat Mode = iota
	// Strict asks for verb create on a subresource of its own for whatever runs
	// or joins a process, and lets nodes/proxy stand in for as little as it can.
	Strict
)

// Request is what of a request to the kubelet's API decides which rights it needs.
type Request struct {
	// Method is the HTTP method as received, in its case.
	Method string
	// Path is the decoded path, as net/url gives it.
	Path string
	// RawPath is the path as received, up to the "?", if it differs from the default
	// encoding of Path (net/url's URL.RawPath); empty if not.
	RawPath string
	// Upgrade is true if a protocol upgrade was asked for.
	Upgrade bool
}

// Attributes are the verb and the subresource that an authorizer is asked about.
// The rest is the same for every request: no namespace, the core API group, version
// v1, resource nodes, and the name of the node.
type Attributes struct{ Verb, Subresource string }

// Target is what the path of a request names. Empty is what it does not name. It
// is the caller's text and proves nothing: the kubelet looks a container up by
// namespace, pod name and container name.
type Target struct{ Namespace, Pod, UID, Container string }

// Mapping is what a request needs.
type Mapping struct {
	// Rule is the rule that asks for the rights.
	Rule rules.ID
	// Attempts are the rights, of which one is enough. They are asked about in this
	// order, and never empty. The slice is shared by all requests: it must not be
	// written to.
	Attempts []Attributes
	// Target is what the path names, for the audit line.
	Target Target
	// Streams is true if the answer can last: exec, attach, portForward, run, the
	// logs of a container, which may be followed, and every upgrade.
	Streams bool
}

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
