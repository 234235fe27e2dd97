// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// request is what an account asks.
type request = authorizer.AttributesRecord

// Authorizer decides what accounts with a scope may do. It is safe for concurrent use if
// what its Config has is, and keeps nothing of what it has decided but the names of nodes.
type Authorizer struct {
	Config
	users *nodeUsers
}

var _ authorizer.UnconditionalAuthorizer = &Authorizer{}

// New returns an authorizer. It does no I/O.
func New(config Config) *Authorizer {
	if config.Info == nil {
		config.Info = noInfo{}
	}
	if config.Unready == nil {
		config.Unready = func() string { return "knows nothing of the cluster" }
	}
	return &Authorizer{config, newNodeUsers()}
}

// Authorize answers a request by the rules in [Rules]: with no opinion or with a denial,
// and never with an allowance. The reason ends in the ID of the rule that decided; it is
// empty for a request that is not a ServiceAccount's. The error is always nil: every
// request has an answer.
func (z *Authorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	a := requestOf(attributes)
	if a == nil || a.User == nil {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if _, _, isAccount, _ := accountOf(a.User.GetName()); !isAccount {
		return authorizer.DecisionNoOpinion, "", nil
	}
	v := z.decide(ctx, a)
	return v.decision(), v.reason(), nil
}

func (z *Authorizer) decide(ctx context.Context, a *request) verdict {
	if v := z.decideCredential(a); v.rule != nil {
		return v
	}
	if why := z.Unready(); why != "" {
		return refuse(unready, "node scope "+why)
	}
	who := z.identify(ctx, a.User)
	v := z.decideFor(ctx, who, a)
	if v.passed || !who.audits {
		return v
	}
	if z.Audit != nil {
		z.Audit(Finding{Rule: v.rule.ID, Node: who.node, Attributes: a})
	}
	return pass(audited)
}

// decideFor rules as if the scope of the account were enforced.
func (z *Authorizer) decideFor(ctx context.Context, who identity, a *request) verdict {
	if who.against == unready || who.against == accountNamed {
		return refuse(who.against, who.why)
	}
	if !a.ResourceRequest {
		return pass(neverInScope)
	}
	r := asked(a)
	switch {
	case isSelfReview(r):
		return pass(neverInScope)
	case isImpersonation(a.Verb):
		return authorizeImpersonation(who, a)
	case makesCredential(r, a.Verb):
		return z.authorizeCredential(ctx, who, r, a)
	case grantsRights(r, a):
		return authorizeGrant(who)
	case !who.held.covers(r):
		return pass(notInScope)
	case who.against != nil:
		return refuse(who.against, who.why)
	}
	return z.authorizeHeld(ctx, who.node, r, a)
}

// podPatience is how long the look for a pod may take. With what the transport and the
// node authorizer may wait for, it is no more than the 3 s after which kube-apiserver
// gives up.
const podPatience = 400 * time.Millisecond

// identify looks again before a token is refused because its pod is not there: it may
// have been made a moment ago. Where the token says that the pod is, is where it is
// looked for.
func (z *Authorizer) identify(ctx context.Context, u user.Info) identity {
	who := identify(u, z.Info)
	if who.against != podCurrent || z.Confirmer == nil || who.claims.nodeName == "" {
		return who
	}
	ctx, cancel := context.WithTimeout(ctx, podPatience)
	defer cancel()
	why := z.Confirmer.ConfirmPod(ctx, who.claims.nodeName, who.namespace, who.claims.podName, who.claims.podUID)
	who = identify(u, z.Info)
	if who.against == podCurrent && why != "" {
		who.why += " (" + why + ")"
	}
	return who
}

// authorizeHeld rules on what is in the scope of a pod on the node.
func (z *Authorizer) authorizeHeld(ctx context.Context, node string, r Resource, a *request) verdict {
	switch {
	case r.Group == "" && r.Resource == "nodes":
		return z.authorizeNode(ctx, node, r, a)
	case r.Group == "" && r.Resource == "pods":
		return z.authorizePod(ctx, node, r, a)
	}
	if at, declared := z.Custom.Of(r); declared {
		return z.authorizeCustom(ctx, node, at, r, a)
	}
	return z.asNode(ctx, asItsNode, node, a, a.Verb, r)
}

// asNode asks the node authorizer whether the node may do this to what the request
// names, and passes by the rule only if it is allowed. Verb and resource may be others
// than those of the request.
func (z *Authorizer) asNode(ctx context.Context, by *rule, node string, a *request, verb string, r Resource) verdict {
	question := *a
	question.User = z.users.of(node)
	question.Verb, question.Resource, question.Subresource = verb, r.Resource, r.Subresource
	decision, reason, err := z.Node.Authorize(ctx, &question)
	switch {
	case err != nil:
		return refuse(unready, "the node authorizer cannot tell what node '"+node+"' may do: "+err.Error())
	case decision == authorizer.DecisionAllow:
		return pass(by)
	default:
		return refuse(by, "a pod on node '"+node+"' is held to what that node may do: "+reason)
	}
}
