// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// answer contains all return values of an authorizer.
type answer struct {
	decision authorizer.Decision
	reason   string
	err      error
}

func (a answer) String() string {
	name := map[authorizer.Decision]string{
		authorizer.DecisionDeny: "Deny", authorizer.DecisionAllow: "Allow", authorizer.DecisionNoOpinion: "NoOpinion",
	}[a.decision]
	if a.err != nil {
		return fmt.Sprintf("%s %q, error %v", name, a.reason, a.err)
	}
	return fmt.Sprintf("%s %q", name, a.reason)
}

func ask(z authorizer.Authorizer, a authorizer.Attributes) answer {
	decision, reason, err := z.Authorize(context.Background(), a)
	return answer{decision, reason, err}
}

// comparison is one request with both answers.
type comparison struct {
	pair               *pair
	request            *authorizer.AttributesRecord
	node               string
	isNode             bool
	mode               nodeauthorizer.Mode
	upstream, bulkhead answer
	// id is the rule that Bulkhead names.
	id rules.ID
}

var (
	identifier = nodeidentifier.NewDefaultNodeIdentifier()
	knownIDs   = func() map[rules.ID]bool {
		ids := map[rules.ID]bool{}
		for _, r := range nodeauthorizer.Rules {
			ids[r.ID] = true
		}
		return ids
	}()
)

// compare asks both subjects, Bulkhead in both modes. It returns a description of a difference that
// is not a known one, or "". It counts the known differences.
func (p *pair) compare(a *authorizer.AttributesRecord, counts harness.Counts) string {
	c := comparison{pair: p, request: a, mode: nodeauthorizer.Compat}
	c.node, c.isNode = identifier.NodeIdentity(a.User)
	c.upstream, c.bulkhead = ask(p.upstream, a), ask(p.compat, a)
	c.id, _ = rules.FromReason(c.bulkhead.reason)
	if wrong := c.malformed(); wrong != "" {
		return c.describe(wrong)
	}
	if wrong := c.disagreement(); wrong != "" {
		known := knownAs(&c)
		if known == "" {
			return c.describe(wrong)
		}
		counts[known]++
	}
	return p.compareStrict(c, counts)
}

// compareStrict checks Strict. It must allow the same requests as Compat, with the same reasons.
// Every other decision about a node must be a known difference, for example a denial where upstream
// abstains.
func (p *pair) compareStrict(c comparison, counts harness.Counts) string {
	compat := c.bulkhead
	c.mode, c.bulkhead = nodeauthorizer.Strict, ask(p.strict, c.request)
	const allow = authorizer.DecisionAllow
	switch {
	case c.bulkhead.reason != compat.reason || (c.bulkhead.decision == allow) != (compat.decision == allow):
		return c.describe("Strict differs from Compat, which says " + compat.String())
	case compat.decision == allow || !c.isNode && c.bulkhead.decision == authorizer.DecisionNoOpinion:
		return ""
	}
	known := knownAs(&c)
	if known == "" {
		return c.describe("Strict is not known to answer like this")
	}
	counts[known]++
	return ""
}

// malformed returns what is wrong with Bulkhead's answer, whatever upstream answers, or "".
func (c *comparison) malformed() string {
	switch {
	case c.bulkhead.err != nil:
		return "Bulkhead has an error"
	case !c.isNode && c.bulkhead.reason != "":
		return "Bulkhead gives a reason to a user that is not a node"
	case c.isNode && !knownIDs[c.id]:
		return "Bulkhead names no rule"
	}
	return ""
}

// disagreement returns how Bulkhead in Compat differs from upstream, or "". It compares the
// decisions, and the reasons if upstream has one.
func (c *comparison) disagreement() string {
	switch {
	case c.upstream.err != nil:
		return "upstream has an error"
	case c.bulkhead.decision != c.upstream.decision:
		return "the decisions differ"
	case c.bulkhead.decision == authorizer.DecisionAllow && c.bulkhead.reason != "["+string(c.id)+"]":
		return "an allowance says more than its rule"
	case c.upstream.reason != "" && !c.sameText():
		return "the texts differ"
	}
	return ""
}

// sameText reports whether Bulkhead's reason is upstream's reason followed by the rule.
func (c *comparison) sameText() bool {
	rest, ok := strings.CutPrefix(c.bulkhead.reason, c.upstream.reason)
	return ok && len(rest) == len(c.id)+3 && rest[:2] == " [" && rest[2:len(rest)-1] == string(c.id)
}

func (c *comparison) describe(wrong string) string {
	mode := map[nodeauthorizer.Mode]string{nodeauthorizer.Compat: "Compat", nodeauthorizer.Strict: "Strict"}[c.mode]
	return fmt.Sprintf("%s\n\tupstream: %v\n\tBulkhead (%s): %v", wrong, c.upstream, mode, c.bulkhead)
}
