// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Liftable are the rules that [Restriction.ReviewLifting] can leave out. Each is about
// what a node may say of its own objects; none is what keeps it to those.
var Liftable = []rules.ID{nodeTaints.ID, nodeCordon.ID, nodeAnnotations.ID, podStatusAnnotations.ID, eventSource.ID}

// lifts is false for a rule that is not in [Liftable], whatever lifted says.
func (q *request) lifts(by *rule) bool {
	return q.lifted != nil && slices.Contains(Liftable, by.ID) && q.lifted(by.ID)
}

// liftsTaints leaves as they are those taints that the operator marked as sticky: whoever
// has a part of a node must not take its quarantine off, nor use its memory up.
func (q *request) liftsTaints(old, node *corev1.Node) bool {
	if !q.lifts(nodeTaints) {
		return false
	}
	if q.configuration == nil || q.configuration.StickyTaints == nil {
		return true
	}
	before, after := q.stillSticky(old.Spec.Taints), q.stillSticky(node.Spec.Taints)
	return len(without(before, after)) == 0 && len(without(after, before)) == 0
}
