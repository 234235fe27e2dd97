// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	ruleKey = "rule:"
	wantKey = "want:"
	byKey   = "by:"
)

// Labels besides those of rules and outcomes.
const (
	// Disruptive specs disturb the cluster for others.
	Disruptive = "disruptive"
	// Slow specs take more than ten seconds.
	Slow = "slow"
	// OnHost specs need access to the host of a node, OnWorker specs a node that
	// is no control plane. Where there is none they are skipped.
	OnHost   = "host"
	OnWorker = "worker"
	// OnHardened specs are skipped on other profiles.
	OnHardened = "only:hardened"
)

// Want is the outcome that a spec claims.
type Want string

// The outcomes that a rule can have.
const (
	Allow Want = "allow"
	Deny  Want = "deny"
)

// Behind stands for the authorizers behind ours in [AllowsBy].
const Behind rules.ID = "behind"

// Allows labels a spec that the rule lets pass.
func Allows(rule rules.ID) ginkgo.Labels { return labels(rule, Allow) }

// Denies labels a spec that the rule refuses.
func Denies(rule rules.ID) ginkgo.Labels { return labels(rule, Deny) }

// AllowsBy labels a spec that passes the rule and is then allowed by another
// one, or by an authorizer [Behind] ours.
func AllowsBy(rule, by rules.ID) ginkgo.Labels {
	return append(labels(rule, Allow), byKey+string(by))
}

func labels(rule rules.ID, want Want) ginkgo.Labels {
	return ginkgo.Labels{ruleKey + string(rule), wantKey + string(want)}
}

// Claim is what a spec's labels say.
type Claim struct {
	Rules []rules.ID
	Want  Want
	// By is the rule that a review must name: the first of Rules, if the labels
	// do not say otherwise.
	By rules.ID
}

// ReadClaim reads the labels of a spec.
func ReadClaim(labels []string) Claim {
	var claim Claim
	for _, label := range labels {
		if id, ok := strings.CutPrefix(label, ruleKey); ok && !slices.Contains(claim.Rules, rules.ID(id)) {
			claim.Rules = append(claim.Rules, rules.ID(id))
		}
		if want, ok := strings.CutPrefix(label, wantKey); ok {
			claim.Want = Want(want)
		}
		if by, ok := strings.CutPrefix(label, byKey); ok {
			claim.By = rules.ID(by)
		}
	}
	if claim.By == "" && len(claim.Rules) > 0 {
		claim.By = claim.Rules[0]
	}
	return claim
}
