// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// The functions below return decisions for Strict mode. In Compat mode, [Authorizer.Decide] changes
// Deny to NoOpinion.

func allow(r rules.Rule) rules.Decision { return rules.Decision{Effect: rules.Allow, Rule: r.ID} }

func deny(r rules.Rule, text string) rules.Decision {
	return rules.Decision{Rule: r.ID, Message: text}
}

// noOpinion leaves a request to the next authorizers, in both modes.
func noOpinion(r rules.Rule) rules.Decision {
	return rules.Decision{Effect: rules.NoOpinion, Rule: r.ID,
		Message: "left to the next authorizers"}
}

// audit allows a request by rule r and reports that rule by would deny it.
func audit(r, by rules.Rule) rules.Decision {
	return rules.Decision{Effect: rules.Allow, Rule: r.ID, Findings: []rules.Finding{{Rule: by.ID}}}
}

// against returns the rule that denies the request, or that would deny it if it were enforced. It
// is empty if no rule does. If several rules in audit mode would deny, the decision names the first
// one.
func against(d rules.Decision) rules.ID {
	switch {
	case d.Effect == rules.Deny:
		return d.Rule
	case len(d.Findings) > 0:
		return d.Findings[0].Rule
	}
	return ""
}

// noRule denies a request for which upstream gives no reason.
func noRule(r rules.Rule, a *request) rules.Decision {
	what := a.Verb + " " + a.Resource
	if a.APIGroup != "" {
		what += "." + a.APIGroup
	}
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	return deny(r, "no rule allows a node to "+what)
}

// noRelationship is upstream's text for an object that is not related to a node.
func noRelationship(node string) string {
	return "no relationship found between node '" + node + "' and this object"
}
