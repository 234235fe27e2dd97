// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Exemptable are the rules that [Restriction.ReviewExempting] can leave out. Each is about
// what a node may say of its own objects; none is what keeps it to those.
var Exemptable = []rules.ID{nodeTaints.ID, nodeCordon.ID, nodeAnnotations.ID, podStatusAnnotations.ID, eventSource.ID}

// exempts is false for a rule that is not in [Exemptable], whatever exempted says.
func (q *request) exempts(by rules.Rule) bool {
	return q.exempted != nil && slices.Contains(Exemptable, by.ID) && q.exempted(by.ID)
}

// exemptsTaints leaves as they are those taints that the operator marked as sticky: whoever
// has a part of a node must not take its quarantine off, nor use its memory up.
func (q *request) exemptsTaints(old, node *corev1.Node) bool {
	if !q.exempts(nodeTaints) {
		return false
	}
	if q.configuration == nil || q.configuration.StickyTaints == nil {
		return true
	}
	before, after := q.stillSticky(old.Spec.Taints), q.stillSticky(node.Spec.Taints)
	return len(without(before, after)) == 0 && len(without(after, before)) == 0
}
