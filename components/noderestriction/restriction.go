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
	// onEvents and onPodStatus are false where no optional rule on these is on: they are
	// most of what nodes write.
	onEvents, onPodStatus bool
}

// New returns a Restriction. It does no I/O.
func New(config Config) *Restriction {
	return &Restriction{
		config:      config,
		onEvents:    anyOn(config.Modes, eventRules) || anyOn(config.Modes, objectRules),
		onPodStatus: anyOn(config.Modes, podStatusBeyondRules),
	}
}

// Review answers one write. A request of a user who is neither a node nor in the group
// system:bootstrappers is admitted without a rule. Objects have to be of the types of k8s.io/api
// that belong to the resource;
// one of another type is refused.
func (r *Restriction) Review(ctx context.Context, a admission.Attributes) rules.Decision {
	return r.ReviewExempting(ctx, a, nil)
}

// ReviewExempting is Review without the rules that exempted says, of those in [Exemptable];
// nil exempts from none.
func (r *Restriction) ReviewExempting(ctx context.Context, a admission.Attributes,
	exempted func(rules.ID) bool) rules.Decision {
	node, isNode := nodeidentity.NodeName(a.GetUserInfo())
	if !isNode {
		return r.reviewBootstrapper(ctx, a)
	}
	of := resourceKindOf(a.GetResource())
	if node != "" && !r.concerns(of) {
		return rules.Decision{Effect: rules.Allow}
	}
	q := request{Attributes: a, node: node, exempted: exempted}
	if r.config.Configuration != nil {
		q.configuration = r.config.Configuration()
	}
	refused := r.reviewKind(ctx, of, &q)
	if refused == nil {
		refused = r.reviewObject(of, &q)
	}
	return q.decision(refused)
}
