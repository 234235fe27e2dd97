// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// refreshTimeout is the time limit for all live reads before one denial. The transport lets a request
// wait up to one second for a free slot. Together they stay below 3 s: after that time
// kube-apiserver stops waiting for the webhook and continues.
const refreshTimeout = 1500 * time.Millisecond

const noObjectName = "No Object name found"

// related allows a request for an object that is related to the node. If Relations does not know
// the relation, it does a live read before it denies. So a watch that lags behind does not cause a
// denial.
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

// judge applies the optional rules to a relation. If several rules deny, it names the first of
// them: NA-NODE-4, then the rule of the relation's condition, then r, the rule of the request's
// class. It does not set the message of a denial.
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

// confirmed returns the decision after the live reads that could change it. If NA-NODE-4 denies, it
// reads the Node object. If another rule denies, it reads the objects of the relation. It does each
// read at most once, and does no second read if the first one leads to an allow. why is the reason
// if the last read did not succeed.
func (z *Authorizer) confirmed(ctx context.Context, v rules.Decision, r rules.Rule, node string, kind graph.Kind,
	a *request) (_ rules.Decision, why string) {
	if z.refresher == nil {
		return v, ""
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
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

// ruleOf returns the optional rule for a condition.
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

// unrelatedText is the message of a denial by rule r.
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

// because appends why the decision may be out of date: a live read did not succeed.
func because(text, why string) string {
	if why == "" {
		return text
	}
	return text + " (" + why + ")"
}
