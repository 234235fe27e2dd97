// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// noOpinion leaves a request to the authorizers behind. Nothing is allowed here.
func noOpinion(r rules.Rule) rules.Decision {
	return rules.Decision{Effect: rules.NoOpinion, Rule: r.ID}
}

func deny(r rules.Rule, text string) rules.Decision {
	return rules.Decision{Rule: r.ID, Message: text}
}
