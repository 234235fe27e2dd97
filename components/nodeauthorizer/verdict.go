// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// rule is a rule with what reasons have of it, made once: bare is the reason that
// allowances carry, so that to allow does not allocate, and end is what comes after
// the text of others.
type rule struct {
	rules.Rule
	// number is below maxRules, and of no other rule.
	number    uint64
	bare, end string
	unruled   unruled
}

// promised counts the rules.
var promised uint64

func promise(r rules.Rule) *rule {
	bare := r.Reason("")
	if promised++; promised >= maxRules {
		panic("more rules than maxRules")
	}
	return &rule{Rule: r, number: promised, bare: bare, end: " " + bare}
}

// effect is what a rule makes of a request.
type effect uint8

const (
	// refused requests are denied in Strict mode and left to the authorizers
	// behind in Compat mode. It is the zero value: a forgotten verdict refuses.
	refused effect = iota
	allowed
	// audited requests are allowed, and would be refused if the rule were enforced.
	audited
	// passed requests are left to the authorizers behind in both modes.
	passed
)

// wording is how a reason is made of a verdict's text. What a node that looks around
// is told most often is put together in one step.
type wording uint8

const (
	// plain: the text, then the ID of the rule. Without a text it is the ID alone.
	plain wording = iota
	// whole: the text is all that the caller is told.
	whole
	// unrelatedTo: the text is the name of a node, to which nothing relates the object.
	unrelatedTo
	// allNodes: the text is the name of a node, which asks for all nodes at once.
	allNodes
)

// noRelationship is upstream's text for what is not related to a node.
func noRelationship(node, end string) string {
	return "no relationship found between node '" + node + "' and this object" + end
}

// cannotReadAll is upstream's text for whoever lists or watches nodes without a name.
func cannotReadAll(node, end string) string {
	return "node '" + node + "' cannot read all nodes, only its own Node object" + end
}

// verdict is the answer to one request: what happens, by which rule, and what
// the caller is told. It is no larger than four words, which are passed in
// registers: most decisions take less time than it took to copy a fifth.
type verdict struct {
	effect  effect
	wording wording
	// rule is, of what is audited, the optional rule that would have refused first,
	// were it and the others in audit enforced.
	rule *rule
	text string
}

func allow(r *rule) verdict { return verdict{effect: allowed, rule: r} }

// refuse gives a reason that is made already.
func refuse(r *rule, w *words) verdict { return refuseBy(r, w.by(r)) }

// refuseBy is given all of the reason, with the rule's end: what quotes the request is
// put together at once.
func refuseBy(r *rule, reason string) verdict {
	return verdict{effect: refused, wording: whole, rule: r, text: reason}
}

// refuseSaying is given the text only.
func refuseSaying(r *rule, text string) verdict {
	return verdict{effect: refused, wording: plain, rule: r, text: text}
}

func pass(r *rule, text string) verdict {
	return verdict{effect: passed, wording: plain, rule: r, text: text}
}

// audit allows by r what by would refuse.
func audit(r, by *rule) verdict {
	return verdict{effect: audited, rule: by, text: r.bare, wording: whole}
}

// against is the rule that refuses the request, or that would if it were
// enforced; nil if none does.
func (v verdict) against() *rule {
	if v.effect == refused || v.effect == audited {
		return v.rule
	}
	return nil
}

// ruledBy is the same verdict, by another rule.
func (v verdict) ruledBy(r *rule) verdict {
	if v.wording == whole {
		v.wording, v.text = plain, strings.TrimSuffix(v.text, v.rule.end)
	}
	v.rule = r
	return v
}

// decision is what the API server is told in the given mode.
func (v verdict) decision(mode Mode) authorizer.Decision {
	switch {
	case v.effect == allowed || v.effect == audited:
		return authorizer.DecisionAllow
	case v.effect == refused && mode == Strict:
		return authorizer.DecisionDeny
	default:
		return authorizer.DecisionNoOpinion
	}
}

// reason is what the caller is told. It is the same in both modes.
func (v verdict) reason(made *nodeReasons) string {
	switch {
	case v.effect == allowed || v.text == "":
		return v.rule.bare
	case v.wording == whole:
		return v.text
	case v.wording == unrelatedTo || v.wording == allNodes:
		return made.of(v.text, v.rule, v.wording)
	default:
		return v.text + v.rule.end
	}
}
