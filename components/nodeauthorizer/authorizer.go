// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Authorizer decides what nodes may do. It is safe for concurrent use if its Relations are safe for
// concurrent use. It keeps no record of its decisions.
type Authorizer struct {
	mode      Mode
	features  Features
	relations Relations
	refresher Refresher
	optional  optionalModes
	revoked   func() *revocationlist.Set
	unready   func() (why string)
	newer     func() bool
}

var (
	_ authorizer.Authorizer   = &Authorizer{}
	_ authorizer.RuleResolver = &Authorizer{}
)

// New returns an authorizer. It does no I/O.
func New(config Config) *Authorizer {
	z := &Authorizer{
		mode:      config.Mode,
		features:  config.Features,
		relations: config.Relations,
		refresher: config.Refresher,
		optional:  newOptionalModes(config.Modes),
		revoked:   config.Revoked,
		unready:   config.Unready,
		newer:     config.NewerServer,
	}
	if z.relations == nil {
		z.relations = noRelations{}
	}
	if z.unready == nil {
		z.unready = func() string { return "knows nothing of the cluster" }
	}
	if z.newer == nil {
		z.newer = func() bool { return false }
	}
	return z
}

// Authorize decides a request by the rules in [Rules]. The reason ends in the ID of the rule that
// decided. The reason is empty if the user of the request is not a node. The error is always nil:
// every request gets a decision.
func (z *Authorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string,
	error) {
	return z.Decide(ctx, attributes).Parts()
}

// Decide does the same as Authorize, and also returns the findings: at most one. A finding names a
// rule in audit mode, or NA-DEFAULT (see [Config.NewerServer]). If the user of the request is not a
// node, Decide returns NoOpinion without a rule.
func (z *Authorizer) Decide(ctx context.Context, attributes authorizer.Attributes) rules.Decision {
	a := requestOf(attributes)
	if a == nil {
		return rules.Decision{Effect: rules.NoOpinion}
	}
	node, isNode := nodeidentity.NodeName(a.User)
	if !isNode {
		return rules.Decision{Effect: rules.NoOpinion}
	}
	d := z.decideCredential(ctx, node, a)
	if d.Effect == rules.Deny && z.mode != Strict {
		d.Effect = rules.NoOpinion
	}
	return d
}

// unknownNode is for the one user name that has the node prefix but no node name after it.
const unknownNode = `unknown node for user "` + nodeidentity.Prefix + `"`

func (z *Authorizer) decide(ctx context.Context, node string, a *request) rules.Decision {
	if node == "" {
		return deny(identityNamed, unknownNode)
	}
	if why := z.unready(); why != "" {
		return rules.Decision{Effect: rules.NoOpinion, Rule: unready.ID, Message: "the node authorizer " + why}
	}
	if !a.ResourceRequest {
		return authorizePath(a)
	}
	if isAdmissionQuestion(a.Verb) {
		return authorizeAdmissionQuestion(a)
	}
	return z.authorizeResource(ctx, node, a)
}

// noRelations is a cluster in which no object is related to any node.
type noRelations struct{}

func (noRelations) Relation(string, graph.Kind, string, string) (none graph.Relation) { return none }
func (noRelations) Registered(string) bool                                            { return false }

var errNoRuleResolution = errors.New(
	"the node authorizer cannot list the rights of a node: they depend on the objects asked for")

// RulesFor lists no rules. For a node it reports that the list is incomplete: the permissions of a
// node depend on the pods that are bound to it.
func (z *Authorizer) RulesFor(_ context.Context, u user.Info, _ string) ([]authorizer.ResourceRuleInfo,
	[]authorizer.NonResourceRuleInfo, bool, error) {
	if _, isNode := nodeidentity.NodeName(u); isNode {
		return nil, nil, true, errNoRuleResolution
	}
	return nil, nil, false, nil
}

// ConditionsAwareAuthorize decides as Authorize does. Its decisions never have conditions.
func (z *Authorizer) ConditionsAwareAuthorize(ctx context.Context,
	a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(z.Authorize(ctx, a))
}

// EvaluateConditions always denies. This authorizer sets no conditions, so the conditions that it
// is asked to evaluate come from another authorizer.
func (*Authorizer) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision,
	authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}
