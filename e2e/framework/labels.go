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
	ruleKey   = "rule:"
	wantKey   = "want:"
	byKey     = "by:"
	offKey    = "off:"
	attackKey = "attack:"
)

// Labels other than those of rules and outcomes.
const (
	// Disruptive specs change or break things that other specs need.
	Disruptive = "disruptive"
	// Slow specs take more than ten seconds.
	Slow = "slow"
	// OnHost specs need access to the host of a node. OnWorker specs need a node that is not a
	// control plane. They are skipped where this is missing.
	OnHost   = "host"
	OnWorker = "worker"
	// OnHardened and OnParity specs are skipped on other profiles.
	OnHardened = "only:hardened"
	OnParity   = "only:parity"
)

// Want is the outcome that a spec claims.
type Want string

// The possible outcomes of a rule.
const (
	Allow Want = "allow"
	Deny  Want = "deny"
)

// Behind means the authorizers after Bulkhead in [AllowsBy].
const Behind rules.ID = "behind"

// Allows labels a spec that the rule allows.
func Allows(rule rules.ID) ginkgo.Labels { return labels(rule, Allow) }

// Denies labels a spec that the rule denies.
func Denies(rule rules.ID) ginkgo.Labels { return labels(rule, Deny) }

// AllowsBy labels a spec that the rule does not deny, and that another rule or an authorizer after
// Bulkhead ([Behind]) then allows.
func AllowsBy(rule, by rules.ID) ginkgo.Labels {
	return append(labels(rule, Allow), byKey+string(by))
}

// DeniesBeyond labels a spec that the rule denies where it is in force. Where it is not in force,
// another rule allows the same request: see [InForce].
func DeniesBeyond(rule, off rules.ID) ginkgo.Labels {
	return append(labels(rule, Deny), offKey+string(off))
}

// DeniesBy labels a spec that the rule denies, where the answer names another rule.
func DeniesBy(rule, by rules.ID) ginkgo.Labels {
	return append(labels(rule, Deny), byKey+string(by))
}

// Unprotected labels a spec that shows what happens where the rule does not apply: the authorizers
// after Bulkhead allow the request, on every profile.
func Unprotected(rule rules.ID) ginkgo.Labels {
	return append(AllowsBy(rule, Behind), offKey+string(Behind))
}

// Attack labels a spec with the attack that it tries, or with the attack whose legitimate
// counterpart it is.
func Attack(id string) ginkgo.Labels { return ginkgo.Label(attackKey + id) }

// InForce reports whether the rule is enforced on the profile, as the installer configures it by
// default. On [Any] this is what a report demands.
func InForce(rule rules.Rule, profile Profile) bool {
	switch {
	case rule.Audited:
		return false
	case rule.Optional, rule.Configured:
		return profile == Hardened || profile == Any
	case rule.Extension:
		return profile != InTree
	}
	return true
}

func labels(rule rules.ID, want Want) ginkgo.Labels {
	return ginkgo.Labels{ruleKey + string(rule), wantKey + string(want)}
}

// Claim is the content of a spec's labels.
type Claim struct {
	Rules []rules.ID
	Want  Want
	// By is the rule that a review must name. It is the first of Rules, unless the labels name
	// another one.
	By rules.ID
	// Off is the rule that allows the same request where the first of Rules is not in force. It is
	// empty if the labels do not name one.
	Off rules.ID
	// OnlyHardened is true for a spec that other profiles skip.
	OnlyHardened bool
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
		if off, ok := strings.CutPrefix(label, offKey); ok {
			claim.Off = rules.ID(off)
		}
		claim.OnlyHardened = claim.OnlyHardened || label == OnHardened
	}
	if claim.By == "" && len(claim.Rules) > 0 {
		claim.By = claim.Rules[0]
	}
	return claim
}
