// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// request is the request of an account.
type request = authorizer.AttributesRecord

// Authorizer decides the requests of accounts with a scope. It is safe for concurrent use if
// the parts of its Config are. It does not cache decisions.
type Authorizer struct{ Config }

var _ authorizer.UnconditionalAuthorizer = &Authorizer{}

// New returns an authorizer. It does no I/O.
func New(config Config) *Authorizer {
	if config.Info == nil {
		config.Info = noInfo{}
	}
	if config.Unready == nil {
		config.Unready = func() string { return "knows nothing of the cluster" }
	}
	return &Authorizer{config}
}

// Authorize decides a request by the rules in [Rules]. The decision is no opinion or deny,
// never allow. The reason ends with the ID of the rule that decided. It is empty if the user is
// not a ServiceAccount. The error is always nil: every request has a decision.
func (z *Authorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string,
	error) {
	return z.Decide(ctx, attributes).Parts()
}

// Decide is Authorize with findings. For an account in audit mode, the findings contain the
// rule that would have denied. They also contain the rules of the node authorizer in audit mode
// that would have denied the node. If the user is not a ServiceAccount, the decision is no
// opinion without a rule.
func (z *Authorizer) Decide(ctx context.Context, attributes authorizer.Attributes) rules.Decision {
	a := requestOf(attributes)
	if a == nil || a.User == nil {
		return rules.Decision{Effect: rules.NoOpinion}
	}
	if _, _, isAccount, _ := accountOf(a.User.GetName()); !isAccount {
		return rules.Decision{Effect: rules.NoOpinion}
	}
	return z.decide(ctx, a)
}

func (z *Authorizer) decide(ctx context.Context, a *request) rules.Decision {
	if d, revoked := z.decideCredential(a); revoked {
		return d
	}
	if why := z.Unready(); why != "" {
		return deny(unready, "node scope "+why)
	}
	who := z.identify(ctx, a.User)
	v := z.decideFor(ctx, who, a)
	if v.Effect != rules.Deny || !who.audits {
		return v
	}
	d := v.AsFinding(rules.NoOpinion)
	d.Rule, d.Message = audited.ID, ""
	return d
}

// decideFor decides as if the scope of the account were enforced.
func (z *Authorizer) decideFor(ctx context.Context, who identity, a *request) rules.Decision {
	if who.against == unready.ID || who.against == accountNamed.ID {
		return who.denied()
	}
	if !a.ResourceRequest {
		return noOpinion(neverInScope)
	}
	r := asked(a)
	switch {
	case isSelfReview(r):
		return noOpinion(neverInScope)
	case isImpersonation(a.Verb):
		return authorizeImpersonation(who, a)
	case makesCredential(r, a.Verb):
		return z.authorizeCredential(ctx, who, r, a)
	case grantsRights(r, a):
		return authorizeGrant(who)
	case !who.scopes.covers(r):
		return noOpinion(notInScope)
	case who.against != "":
		return who.denied()
	}
	return z.authorizeScoped(ctx, who.node, r, a)
}

// podLookupTimeout is the timeout of one look-up of a pod. Together with the waits of the transport
// and of the node authorizer, it is at most the 3 s after which kube-apiserver gives up.
const podLookupTimeout = 400 * time.Millisecond

// identify refreshes the pod before it denies a token because the pod is not found: the pod may
// be new. It looks for the pod on the node that the token names.
func (z *Authorizer) identify(ctx context.Context, u user.Info) identity {
	who := identify(u, z.Info)
	if who.against != podCurrent.ID || z.Confirmer == nil || who.claims.nodeName == "" {
		return who
	}
	ctx, cancel := context.WithTimeout(ctx, podLookupTimeout)
	defer cancel()
	why := z.Confirmer.ConfirmPod(ctx, who.claims.nodeName, who.namespace, who.claims.podName, who.claims.podUID)
	who = identify(u, z.Info)
	if who.against == podCurrent.ID && why != "" {
		who.why += " (" + why + ")"
	}
	return who
}

// authorizeScoped decides a request for a resource in the scope of a pod on the node.
func (z *Authorizer) authorizeScoped(ctx context.Context, node string, r Resource, a *request) rules.Decision {
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

// asNode asks the node authorizer whether the node may do this to the object of the request.
// The decision is no opinion with the rule by if the node may, and deny otherwise. The verb and
// the resource can differ from those of the request.
func (z *Authorizer) asNode(ctx context.Context, by rules.Rule, node string, a *request, verb string,
	r Resource) rules.Decision {
	question := *a
	question.User = &user.DefaultInfo{Name: nodeidentity.Prefix + node, Groups: nodeGroups}
	question.Verb, question.Resource, question.Subresource = verb, r.Resource, r.Subresource
	v := z.Node.Decide(ctx, &question)
	if v.Effect != rules.Allow {
		return deny(by, "a pod on node '"+node+"' is limited to what that node may do: "+v.Reason())
	}
	return rules.Decision{Effect: rules.NoOpinion, Rule: by.ID, Findings: v.Findings}
}

// nodeGroups are the groups of every node.
//
// Source: pkg/auth/nodeidentifier/default.go.
var nodeGroups = []string{user.NodesGroup, user.AllAuthenticated}

// noOpinion returns a decision that leaves the request to the next authorizers. This package
// never allows a request.
func noOpinion(r rules.Rule) rules.Decision {
	return rules.Decision{Effect: rules.NoOpinion, Rule: r.ID}
}

func deny(r rules.Rule, text string) rules.Decision {
	return rules.Decision{Rule: r.ID, Message: text}
}

// requestOf returns the transport's own record, or a copy of any other attributes. It is nil if
// there are none. It ignores selector parse errors: the requirements that were not parsed could
// only narrow the selection.
func requestOf(attributes authorizer.Attributes) *request {
	a, isRecord := attributes.(*request)
	if isRecord || attributes == nil {
		return a
	}
	ofFields, _ := attributes.GetFieldSelector()
	ofLabels, _ := attributes.GetLabelSelector()
	return &request{
		User:                      attributes.GetUser(),
		Verb:                      attributes.GetVerb(),
		Namespace:                 attributes.GetNamespace(),
		APIGroup:                  attributes.GetAPIGroup(),
		APIVersion:                attributes.GetAPIVersion(),
		Resource:                  attributes.GetResource(),
		Subresource:               attributes.GetSubresource(),
		Name:                      attributes.GetName(),
		ResourceRequest:           attributes.IsResourceRequest(),
		Path:                      attributes.GetPath(),
		FieldSelectorRequirements: ofFields,
		LabelSelectorRequirements: ofLabels,
	}
}
