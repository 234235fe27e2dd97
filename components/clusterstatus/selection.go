// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// selects reports whether a DaemonSet with this pod runs on the node, by its node selector and its
// required node affinity. It ignores taints: kubelet-auth-proxy tolerates all.
func selects(pod *corev1.PodSpec, node *corev1.Node) bool {
	if !labels.SelectorFromSet(pod.NodeSelector).Matches(labels.Set(node.Labels)) {
		return false
	}
	if pod.Affinity == nil || pod.Affinity.NodeAffinity == nil ||
		pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	terms := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool { return matches(term, node) })
}

// matches reports whether all requirements of a term match. As in Kubernetes, an empty term matches
// no node.
func matches(term corev1.NodeSelectorTerm, node *corev1.Node) bool {
	return len(term.MatchExpressions)+len(term.MatchFields) > 0 &&
		matchesAll(term.MatchExpressions, node.Labels) &&
		matchesAll(term.MatchFields, labels.Set{"metadata.name": node.Name})
}

func matchesAll(requirements []corev1.NodeSelectorRequirement, values labels.Set) bool {
	for _, r := range requirements {
		parsed, err := labels.NewRequirement(r.Key, operators[r.Operator], r.Values)
		if err != nil || !parsed.Matches(values) {
			return false
		}
	}
	return true
}
