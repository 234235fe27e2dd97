// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Identity is what is known of a user: the same for who authorizes its requests and for
// who admits its writes. The zero value is nobody that a scope can bind.
type Identity struct{ known identity }

// Identify looks the user up, once. It does not allocate.
func Identify(u user.Info, info NodeInfo) Identity {
	if u == nil {
		return Identity{}
	}
	return Identity{identify(u, info)}
}

// IsBound reports whether the user has a scope, of whatever size.
func (i Identity) IsBound() bool { return !i.known.held.isEmpty() }

// Covers reports whether the user is held to its node on the resource.
func (i Identity) Covers(r Resource) bool { return i.known.held.covers(r) }

// Node is the one that the user's pod is on. It is empty if there is anything [Identity.Against]
// that: then the user gets nothing on what it is held on.
func (i Identity) Node() string { return i.known.node }

// Against is the rule by which the user gets nothing on what it is held on, with the
// text of it; there is none if it is known which node the user is on.
func (i Identity) Against() (by rules.ID, why string, is bool) {
	return i.known.against, i.known.why, i.known.against != ""
}

// Lifts reports whether an exemption of the account lifts a rule on the user's own node.
func (i Identity) Lifts(rule rules.ID) bool { return i.known.exemptions.Lifts(rule) }

// Audits reports whether what binds the user is only reported.
func (i Identity) Audits() bool { return i.known.audits }
