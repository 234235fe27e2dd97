// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"fmt"
	"maps"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Mode selects the rights that requests to the kubelet's API need.
type Mode int

// The modes. The zero value is Compat.
const (
	// Compat requires the rights that the kubelet of Kubernetes 1.37 requires.
	Compat Mode = iota
	// Strict requires verb create on a separate subresource for every request that runs a process
	// or attaches to one. It accepts nodes/proxy in as few cases as possible.
	Strict
)

// Request is the part of a request to the kubelet's API that determines the required rights.
type Request struct {
	// Method is the HTTP method as received. It is case-sensitive.
	Method string
	// Path is the decoded path, as net/url gives it.
	Path string
	// RawPath is the path as received, up to the "?", if it differs from the default encoding of
	// Path (net/url's URL.RawPath). Otherwise it is "".
	RawPath string
	// Upgrade is true if the client requested a protocol upgrade.
	Upgrade bool
}

// Attributes are the verb and the subresource for the authorizer. The other attributes are the same
// for every request: no namespace, the core API group, version v1, resource nodes, and the node
// name.
type Attributes struct{ Verb, Subresource string }

// Target is the object that the path of a request names. A field is "" if the path does not name
// it. Target is text from the client and proves nothing: the kubelet looks up a container by
// namespace, pod name and container name.
type Target struct{ Namespace, Pod, UID, Container string }

// Mapping contains the rights that a request needs.
type Mapping struct {
	// Rule is the rule that requires the rights.
	Rule rules.ID
	// Attempts are the rights. One of them is enough. The caller asks for them in this order.
	// Attempts is never empty. All requests share the slice, so the caller must not change it.
	Attempts []Attributes
	// Target is the object that the path names, for the audit log.
	Target Target
	// Component is what follows /metrics/bulkhead/ in the path: the name of the component whose
	// metrics the proxy serves itself. It is text from the client. For any other path it is "".
	Component string
	// Streams is true if the answer can be long-lived: exec, attach, portForward, run, the logs of
	// a container, which may be followed, and every upgrade.
	Streams bool
}

// ParseMode parses "compat" or "strict", in lower case. The error names the text and the valid
// modes.
func ParseMode(text string) (Mode, error) {
	switch text {
	case Compat.String():
		return Compat, nil
	case Strict.String():
		return Strict, nil
	}
	return Strict, fmt.Errorf("invalid mode %q: use compat or strict", text)
}

// String returns the mode in the form that [ParseMode] parses.
func (m Mode) String() string {
	if m == Compat {
		return "compat"
	}
	return "strict"
}

// Policy is a [Mode] in which single optional rules have their own mode. It is safe for concurrent
// use.
type Policy struct {
	mode  Mode
	modes map[rules.ID]rules.Mode
}

// NewPolicy creates a policy. single sets the mode of single optional rules. All other optional
// rules are enforced in Strict, and off in Compat.
func NewPolicy(mode Mode, single map[rules.ID]rules.Mode) *Policy {
	all := rules.Enforce
	if mode == Compat {
		all = rules.Off
	}
	p := &Policy{mode: mode, modes: rules.Modes(Rules, all)}
	maps.Copy(p.modes, single)
	return p
}

// ModeOf returns the mode of a rule. A rule that is not optional is enforced. ModeOf is also for
// rules that other packages enforce.
func (p *Policy) ModeOf(id rules.ID) rules.Mode {
	if mode, ok := p.modes[id]; ok {
		return mode
	}
	return rules.Enforce
}

// Map is [Mode.Map] with the modes of the rules. For a rule that is off or in audit mode, enforced
// is the kubelet's own mapping. For a rule in audit mode, audited is the mapping that the rule
// would enforce. Otherwise audited has no attempts.
//
// Where [RuleUpgrade] is not enforced, the other rules decide about a request with an upgrade as about
// the same request without it: a header must not replace the right that they demand.
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
	if mapping.Rule == RuleUpgrade {
		plain := r
		plain.Upgrade = false
		enforced, other, refusal := p.Map(plain)
		enforced.Streams = true
		if audited.Attempts == nil {
			audited = other
		}
		return enforced, audited, refusal
	}
	enforced, refusal = Compat.Map(r)
	return enforced, audited, refusal
}
