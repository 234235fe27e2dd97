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

// Config has the dependencies and settings of a [Restriction].
type Config struct {
	// Cluster looks up what the request does not contain. It is required.
	Cluster Cluster
	// Authorizer says whether a node has a right that an administrator can grant. If it is nil, no
	// node has such a right.
	Authorizer Authorizer
	// Features should start from [DefaultFeatures]. In the zero value, all features are off.
	Features Features
	// Modes are the modes of the rules that have one. An optional rule that is not in the map is off.
	// Every other rule that is not in the map is enforced.
	Modes map[rules.ID]rules.Mode
	// Configuration returns the operator's current policy. It may be nil and may return nil. In
	// both cases upstream's fixed policy applies.
	Configuration func() *configuration.Configuration
	// APIAudiences are kube-apiserver's --api-audiences. kube-apiserver puts them in a TokenRequest
	// that names no audience, before it calls the webhook.
	APIAudiences []string
	// AuditOnly is true if the caller enforces no rule. Then a check that fails becomes a finding and
	// the next check runs, so that the decision has more than the first problem of a write. A decision
	// may still deny, where the checks cannot continue.
	AuditOnly bool
}

// Restriction decides what nodes may write. It is safe for concurrent use if its Cluster and its
// Authorizer are.
type Restriction struct {
	config Config
	// onEvents and onPodStatus are false if all optional rules for events or pod statuses are off.
	// Then their checks are skipped, because these are most of what nodes write.
	onEvents, onPodStatus bool
}

// New returns a Restriction. It does no I/O.
func New(config Config) *Restriction {
	if config.AuditOnly {
		config.Modes = audited(config.Modes)
	}
	return &Restriction{
		config:      config,
		onEvents:    anyOn(config.Modes, eventRules) || anyOn(config.Modes, objectRules),
		onPodStatus: anyOn(config.Modes, podStatusExtensionRules),
	}
}

// Review decides on one write. It admits every request of a user who is neither a node nor in the
// group system:bootstrappers, without checking a rule. Objects must have the type of k8s.io/api
// that belongs to the resource. Review denies an object of another type.
func (r *Restriction) Review(ctx context.Context, a admission.Attributes) rules.Decision {
	return r.ReviewExempting(ctx, a, nil)
}

// ReviewExempting is like Review, but skips the rules in [Exemptable] for which exempted returns
// true. If exempted is nil, it skips none.
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
	q := request{Attributes: a, node: node, exempted: exempted, auditOnly: r.config.AuditOnly, modes: r.config.Modes}
	if r.config.Configuration != nil {
		q.configuration = r.config.Configuration()
	}
	refused := r.reviewKind(ctx, of, &q)
	if refused == nil {
		refused = r.reviewObject(of, &q)
	}
	return q.decision(refused)
}

// caps returns the operator's limits. Without a configuration there are none.
func (q *request) caps() configuration.Caps {
	if q.configuration == nil {
		return configuration.Caps{}
	}
	return q.configuration.Caps
}

// reviewCap denies the creation of an object if the node already has most objects of that kind. 0
// means no limit. A dry run gets the same answer as the write. Reviews that run at the same time do
// not count each other's objects. The rule [limit] bounds how many run at once.
func (r *Restriction) reviewCap(ctx context.Context, q *request, by rules.Rule, what Counted, most int,
	plural string) *rules.Decision {
	if most <= 0 {
		return nil
	}
	return r.enforceCap(ctx, q, by, what, most, plural)
}

func (r *Restriction) enforceCap(ctx context.Context, q *request, by rules.Rule, what Counted, most int,
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
