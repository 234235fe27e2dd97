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
)

// Authorizer decides what nodes may do. It is safe for concurrent use if its
// Relations are, and does not allocate to allow what a pointer to an AttributesRecord
// asks for. It keeps nothing of what it has decided but the words.
type Authorizer struct {
	mode      Mode
	features  Features
	relations Relations
	confirmer Confirmer
	optional  optionalModes
	audit     func(Finding)
	revoked   func() *revocationlist.Set
	unready   func() (why string)
	reasons   *nodeReasons
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
		confirmer: config.Confirmer,
		optional:  newOptionalModes(config.Modes),
		audit:     config.Audit,
		revoked:   config.Revoked,
		unready:   config.Unready,
		reasons:   newNodeReasons(),
	}
	if z.relations == nil {
		z.relations = noRelations{}
	}
	if z.unready == nil {
		z.unready = func() string { return "knows nothing of the cluster" }
	}
	return z
}

// Authorize answers a request by the rules in [Rules]. The reason ends in the
// ID of the rule that decided; it is empty for a request that is not a node's.
// The error is always nil: every request has an answer.
func (z *Authorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	a := requestOf(attributes)
	if a == nil {
		return authorizer.DecisionNoOpinion, "", nil
	}
	node, isNode := nodeidentity.NodeName(a.User)
	if !isNode {
		return authorizer.DecisionNoOpinion, "", nil
	}
	return z.answer(ctx, node, a, attributes)
}

// answer puts what was decided into the words of an authorizer. It is a function of
// its own so that whoever is no node is done with quickly.
func (z *Authorizer) answer(ctx context.Context, node string, a *request, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	v := z.decideCredential(ctx, node, a)
	if v.effect == allowed {
		return authorizer.DecisionAllow, v.rule.bare, nil
	}
	if v.effect == audited && z.audit != nil {
		z.audit(Finding{Rule: v.rule.ID, Node: node, Attributes: attributes})
	}
	return v.decision(z.mode), v.reason(z.reasons), nil
}

// unknownNode quotes the one user name that is a node's without saying which.
var unknownNode = say(`unknown node for user "` + nodeidentity.Prefix + `"`)

func (z *Authorizer) decide(ctx context.Context, node string, a *request) verdict {
	if node == "" {
		return refuse(identityNamed, unknownNode)
	}
	if why := z.unready(); why != "" {
		return pass(unready, "the node authorizer "+why)
	}
	if !a.ResourceRequest {
		return authorizePath(a)
	}
	if isAdmissionQuestion(a.Verb) {
		return authorizeAdmissionQuestion(a)
	}
	return z.authorizeResource(ctx, node, a)
}

// noRelations is a cluster in which nothing is related to any node.
type noRelations struct{}

func (noRelations) Relation(string, graph.Kind, string, string) (none graph.Relation) { return none }
func (noRelations) Registered(string) bool                                            { return false }

var errNoRuleResolution = errors.New("the node authorizer cannot list the rights of a node: they depend on the objects asked for")

// RulesFor lists nothing. For a node it says that the list is incomplete, as
// its rights depend on the pods that are bound to it.
func (z *Authorizer) RulesFor(_ context.Context, u user.Info, _ string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	if _, isNode := nodeidentity.NodeName(u); isNode {
		return nil, nil, true, errNoRuleResolution
	}
	return nil, nil, false, nil
}

// ConditionsAwareAuthorize answers as Authorize does: no answer has conditions.
func (z *Authorizer) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(z.Authorize(ctx, a))
}

// EvaluateConditions denies: this authorizer sets no conditions, so whatever
// it is asked to evaluate is not its own.
func (*Authorizer) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}
