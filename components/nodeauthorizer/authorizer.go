// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// Mode is what becomes of a node's request that no rule allows.
type Mode int

const (
	// Compat answers as the in-tree authorizer does: Allow or NoOpinion.
	Compat Mode = iota
	// Strict denies what it does not allow, so that no authorizer behind can
	// allow it. NoOpinion remains for requests that are not a node's, for
	// NA-UNREADY and for the NA-PASS rules.
	Strict
)

// Relations knows which objects are related to which node.
type Relations interface {
	// Reaches reports whether the node may see the object because something
	// bound to the node refers to it. It must not allocate.
	Reaches(node string, kind graph.Kind, namespace, name string) bool
}

// Config is what an [Authorizer] decides from.
type Config struct {
	// Mode is Compat if unset.
	Mode Mode
	// Features should start from [DefaultFeatures]: the zero value has all off.
	Features Features
	// Relations, if nil, relates nothing to any node.
	Relations Relations
	// Unready says, as the end of a sentence, why Relations is not to be relied
	// on: it does not know the whole cluster yet, or is out of date. While it says
	// anything, and forever if it is nil, every request of a node is left to
	// others. It must not allocate to say nothing.
	Unready func() (why string)
}

// Authorizer decides what nodes may do. It is safe for concurrent use if its
// Relations are, holds no state of its own, and does not allocate to allow.
type Authorizer struct {
	mode      Mode
	features  Features
	relations Relations
	unready   func() (why string)
	families  map[schema.GroupResource]family
}

// family decides on the requests for one resource, in all its versions.
type family func(node string, a authorizer.Attributes) verdict

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
		unready:   config.Unready,
	}
	if z.relations == nil {
		z.relations = noRelations{}
	}
	if z.unready == nil {
		z.unready = func() string { return "knows nothing of the cluster" }
	}
	z.families = z.makeFamilies()
	return z
}

// Authorize answers a request by the rules in [Rules]. The reason ends in the
// ID of the rule that decided; it is empty for a request that is not a node's.
// The error is always nil: every request has an answer.
func (z *Authorizer) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a == nil {
		return authorizer.DecisionNoOpinion, "", nil
	}
	node, isNode := nodeidentity.NodeName(a.GetUser())
	if !isNode {
		return authorizer.DecisionNoOpinion, "", nil
	}
	v := z.decide(node, a)
	return v.decision(z.mode), v.reason(), nil
}

func (z *Authorizer) decide(node string, a authorizer.Attributes) verdict {
	if node == "" {
		return refuse(identityNamed, fmt.Sprintf("unknown node for user %q", a.GetUser().GetName()))
	}
	if why := z.unready(); why != "" {
		return pass(unready, "the node authorizer "+why)
	}
	if !a.IsResourceRequest() {
		return authorizePath(a)
	}
	if isAdmissionQuestion(a.GetVerb()) {
		return authorizeAdmissionQuestion(a)
	}
	decide, ok := z.families[schema.GroupResource{Group: a.GetAPIGroup(), Resource: a.GetResource()}]
	if !ok {
		return refuse(nothingElse, noRuleAllows(a))
	}
	return decide(node, a)
}

// makeFamilies is the one list of the resources that nodes may touch.
func (z *Authorizer) makeFamilies() map[schema.GroupResource]family {
	families := map[schema.GroupResource]family{
		{Resource: "secrets"}:                                                  z.authorizeSecret,
		{Resource: "configmaps"}:                                               z.authorizeConfigMap,
		{Resource: "persistentvolumeclaims"}:                                   z.authorizePersistentVolumeClaim,
		{Resource: "persistentvolumes"}:                                        z.authorizePersistentVolume,
		{Resource: "serviceaccounts"}:                                          z.authorizeServiceAccount,
		{Resource: "nodes"}:                                                    authorizeNode,
		{Resource: "pods"}:                                                     z.authorizePod,
		{Group: "coordination.k8s.io", Resource: "leases"}:                     authorizeLease,
		{Group: "storage.k8s.io", Resource: "csinodes"}:                        z.authorizeCSINode,
		{Group: "storage.k8s.io", Resource: "volumeattachments"}:               z.authorizeVolumeAttachment,
		{Group: "resource.k8s.io", Resource: "resourceclaims"}:                 z.authorizeResourceClaim,
		{Group: "resource.k8s.io", Resource: "resourceslices"}:                 z.authorizeResourceSlice,
		{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}:     z.authorizePodCertificateRequest,
		{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: authorizeCertificateSigningRequest,
	}
	addUniform(families, z.features)
	addSelfReviews(families)
	return families
}

// noRelations is a cluster in which nothing is related to any node.
type noRelations struct{}

func (noRelations) Reaches(string, graph.Kind, string, string) bool { return false }

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
