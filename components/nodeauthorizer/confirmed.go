// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// patience is how long the live reads before one refusal may take together. With
// the second for which the transport lets a request wait for its place it is less
// than the 3 s after which kube-apiserver goes on without us.
const patience = 1500 * time.Millisecond

const noObjectName = "No Object name found"

// related allows what is related to the node, at once if Relations says so. Else
// it has the relation read live first, so that nobody is refused for a watch that
// lags behind.
func (z *Authorizer) related(ctx context.Context, r rules.Rule, node string, kind graph.Kind,
	a *request) rules.Decision {
	if a.Name == "" {
		return deny(r, noObjectName)
	}
	v := z.judge(r, z.relations.Relation(node, kind, a.Namespace, a.Name))
	if against(v) == "" {
		return v
	}
	v, why := z.confirmed(ctx, v, r, node, kind, a)
	if v.Effect == rules.Deny {
		v.Message = because(unrelatedText(v.Rule, node), why)
	}
	return v
}

// judge applies the optional rules to a relation, and is what "the rule that
// refuses first" means: NA-NODE-4, then the rule of the relation's condition, then
// r, whose class the request is in. It leaves the text of refusals out.
func (z *Authorizer) judge(r rules.Rule, is graph.Relation) rules.Decision {
	unregistered := !is.Registered && z.optional.node != rules.Off
	switch {
	case unregistered && z.optional.node == rules.Enforce:
		return deny(nodeRegistered, "")
	case !is.Related && is.Condition != graph.Unconditional:
		return deny(ruleOf(is.Condition), "")
	case !is.Related:
		return deny(r, "")
	case unregistered:
		return audit(r, nodeRegistered)
	case is.Condition != graph.Unconditional:
		return audit(r, ruleOf(is.Condition))
	default:
		return allow(r)
	}
}

// confirmed is the decision after the live reads that could change it: of the Node
// if the rule against the request is NA-NODE-4, of the relation if it is another.
// Each is made once at most, so whoever is allowed by the first waits for no
// second. why says what went wrong with the last.
func (z *Authorizer) confirmed(ctx context.Context, v rules.Decision, r rules.Rule, node string, kind graph.Kind,
	a *request) (_ rules.Decision, why string) {
	if z.refresher == nil {
		return v, ""
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	askedNode, askedRelation := false, false
	for {
		by := against(v)
		switch {
		case by == "":
			return v, ""
		case by == nodeRegistered.ID && !askedNode:
			askedNode, why = true, z.refresher.RefreshNode(ctx, node)
		case by != nodeRegistered.ID && !askedRelation:
			askedRelation, why = true, z.refresher.Refresh(ctx, node, kind, a.Namespace, a.Name)
		default:
			return v, why
		}
		v = z.judge(r, z.relations.Relation(node, kind, a.Namespace, a.Name))
	}
}

// ruleOf is the optional rule that makes a condition.
func ruleOf(c graph.Condition) rules.Rule {
	switch c {
	case graph.Ended:
		return podEnded
	case graph.Unusable:
		return serviceAccountUsable
	default:
		return claimOwned
	}
}

// unrelatedText is why the rule does not give the node an object.
func unrelatedText(r rules.ID, node string) string {
	switch r {
	case nodeRegistered.ID:
		return noNodeObject(node)
	case podEnded.ID:
		return onlyThrough(node, "pods that have ended")
	case serviceAccountUsable.ID:
		return onlyThrough(node, "pods that have no use for it")
	case claimOwned.ID:
		return onlyThrough(node, "a claim that its pod does not own")
	default:
		return noRelationship(node)
	}
}

func onlyThrough(node, what string) string {
	return "node '" + node + "' is related to this object only through " + what
}

// because adds to a text why it may be wrong: the view could not be confirmed.
func because(text, why string) string {
	if why == "" {
		return text
	}
	return text + " (" + why + ")"
}
