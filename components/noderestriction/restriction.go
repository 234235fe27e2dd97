// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

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
		onPodStatus: anyOn(config.Modes, podStatusExtensionRules),
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

// caps are the operator's bounds; without a configuration there are none.
func (q *request) caps() configuration.Caps {
	if q.configuration == nil {
		return configuration.Caps{}
	}
	return q.configuration.Caps
}

// reviewCap holds a node that makes one more object of a kind to most of them, of
// which 0 is no bound. A dry run makes none, but is told what the write would be
// told. Writes that are reviewed at the same moment do not see each other: their
// number is bounded by [limit].
func (r *Restriction) reviewCap(ctx context.Context, q *request, by rules.Rule, what Counted, most int,
	plural string) *rules.Decision {
	if most <= 0 {
		return nil
	}
	return r.holdToCap(ctx, q, by, what, most, plural)
}

func (r *Restriction) holdToCap(ctx context.Context, q *request, by rules.Rule, what Counted, most int,
	plural string) *rules.Decision {
	return r.optional(q, by, func() *rules.Decision {
		has, err := r.config.Cluster.Count(ctx, what, q.node, most)
		if err != nil {
			return q.raw(by, err)
		}
		if has >= most {
			return q.forbid(by, fmt.Sprintf("node %q has as many %s as one node may have: %d", q.node, plural, most))
		}
		return nil
	})
}
