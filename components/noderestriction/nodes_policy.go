// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// PodIPInside is the ID of the rule that [PodIPsDenied] checks.
const PodIPInside rules.ID = "NR-PODIP-1"

// LabelsDenied returns, in order, the keys of the labels with which the node must not register. If
// the policy is nil or has no allowedLabels, upstream's fixed policy decides.
func LabelsDenied(policy *configuration.Configuration, node string, labels map[string]string) []string {
	if policy == nil || policy.AllowedLabels == nil {
		return forbiddenLabels(nil, labels)
	}
	denied := unlistedLabels(policy, node, changedLabels(nil, labels), labels)
	slices.Sort(denied)
	return denied
}

// TaintsDenied returns, in order, the keys of the taints with which the node must not register. It
// does not know the recorded sticky taints, with which a node may always register.
func TaintsDenied(policy *configuration.Configuration, node string, taints []corev1.Taint) []string {
	var denied []string
	row := policy.MachineFor(node)
	for _, taint := range taints {
		if !mayRegisterWith(policy, row, taint) {
			denied = append(denied, taint.Key)
		}
	}
	slices.Sort(denied)
	return slices.Compact(denied)
}

// MachineMismatch returns what the machine table denies to a node that registers: the keys of the
// labels with another value than the table's, and the taints of the table that are missing.
func MachineMismatch(policy *configuration.Configuration, node *corev1.Node) (labels []string, missing []corev1.Taint) {
	row := policy.MachineFor(node.Name)
	if row == nil {
		return nil, nil
	}
	labels = notInTable(row, changedLabels(nil, node.Labels), node.Labels)
	slices.Sort(labels)
	return labels, missingTaints(row, node)
}

// PodIPsDenied returns the IPs in the pod's status that NR-PODIP-1 would deny if its node reported
// them now.
func PodIPsDenied(node *corev1.Node, pod *corev1.Pod) []string {
	var denied []string
	for _, text := range newPodIPs(&corev1.PodStatus{}, &pod.Status) {
		if ip, ok := nodeaddress.ParseIP(text); !ok || !mayBePodIP(node, pod, ip) {
			denied = append(denied, text)
		}
	}
	return denied
}
