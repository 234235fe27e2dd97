// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"

	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Config is what a [Restriction] decides from.
type Config struct {
	// Cluster answers what a request alone does not say. It is needed.
	Cluster Cluster
	// Authorizer says whether a node has a right that an administrator may grant.
	// If it is nil, no node has one.
	Authorizer Authorizer
	// Features should start from [DefaultFeatures]: the zero value has all off.
	Features Features
	// Modes are those of the optional rules; one that is not named is off.
	Modes map[rules.ID]rules.Mode
	// Configuration returns the operator's policy that holds now. It may be nil,
	// and may return nil: upstream's fixed policy holds then.
	Configuration func() *configuration.Configuration
	// APIAudiences are kube-apiserver's --api-audiences: what it puts in a
	// TokenRequest that names no audience, before it asks us.
	APIAudiences []string
}

// Restriction decides what nodes may write. It is safe for concurrent use if its
// Cluster and its Authorizer are.
type Restriction struct {
	config Config
	modes  placedModes
	// onEvents and onPodStatus are false where no optional rule on these is on: they are
	// most of what nodes write.
	onEvents, onPodStatus bool
}

// New returns a Restriction. It does no I/O.
func New(config Config) *Restriction {
	modes := placeModes(config.Modes)
	return &Restriction{config: config, modes: modes, onEvents: modes.anyOn(eventRules) || modes.anyOn(objectRules), onPodStatus: modes.anyOn(podStatusBeyondRules)}
}

// Review answers one write. A request of a user who is neither a node nor in the group
// system:bootstrappers is admitted without a rule. Objects have to be of the types of k8s.io/api that belong to the resource;
// one of another type is refused.
func (r *Restriction) Review(ctx context.Context, a admission.Attributes) Verdict {
	return r.ReviewLifting(ctx, a, nil)
}

// ReviewLifting is Review without the rules that lifted says, of those in [Liftable];
// nil lifts none.
func (r *Restriction) ReviewLifting(ctx context.Context, a admission.Attributes, lifted func(rules.ID) bool) (v Verdict) {
	node, isNode := nodeidentity.NodeName(a.GetUserInfo())
	if !isNode {
		return r.reviewBootstrapper(ctx, a)
	}
	of := familyOf(a.GetResource())
	if node != "" && !r.concerns(of) {
		return v
	}
	// It stays on the stack: nothing below may keep it. Field by field it is written in
	// place; a literal is made elsewhere and copied, which takes a quarter of a lease's time.
	var q request
	q.Attributes, q.node, q.lifted = a, node, lifted
	if r.config.Configuration != nil {
		q.configuration = r.config.Configuration()
	}
	refused := r.reviewFamily(ctx, of, &q)
	if refused == nil {
		refused = r.reviewObject(of, &q)
	}
	v.Told = q.found
	if refused != nil {
		v.Rule, v.Refusal = refused.rule.ID, refused.status
	}
	return v
}
