// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const podIPCheck = "IPs of pods"

// podIPFindings checks the IPs of the running pods with NR-PODIP-1. Network plugins with their own
// address pool assign IPs outside the Nodes' podCIDRs. New pods would stay Pending there.
//
// The rule allows every IP of a family for which the Node has no podCIDR, and so does this check.
func podIPFindings(ctx context.Context, in Input) ([]Finding, error) {
	mode := in.Modes[noderestriction.PodIPInside]
	if mode == rules.Off {
		return []Finding{{OK, podIPCheck, "not restricted: rule NR-PODIP-1 is off"}}, nil
	}
	nodes, err := addressesOfNodes(ctx, in)
	if err != nil {
		return nil, err
	}
	checked, outside := 0, examples{}
	err = eachPod(ctx, in, "status.phase=Running,spec.hostNetwork=false", func(pod *corev1.Pod) error {
		node := nodes[pod.Spec.NodeName]
		if node == nil || pod.Spec.HostNetwork || pod.Status.Phase != corev1.PodRunning {
			return nil
		}
		checked++
		if denied := noderestriction.PodIPsDenied(node, pod); len(denied) > 0 {
			outside.add(fmt.Sprintf("%s/%s (%s on node %s)", pod.Namespace, pod.Name, denied[0], node.Name))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	const setting = "`rules: {modes: {NR-PODIP-1: \"off\"}}` in the Installation, or --rule-mode=NR-PODIP-1=off"
	switch {
	case outside.count == 0:
		return []Finding{{OK, podIPCheck, fmt.Sprintf("NR-PODIP-1 allows those of all %d running pods", checked)}}, nil
	case mode == rules.Audit:
		return []Finding{{OK, podIPCheck,
			fmt.Sprintf("%d of %d running pods have an IP outside the podCIDRs of their Node: %s. NR-PODIP-1 only audits "+
				"this; before you enforce, set %s", outside.count, checked, &outside, setting)}}, nil
	}
	return []Finding{{Fail, podIPCheck,
		fmt.Sprintf("%d of %d running pods have an IP outside the podCIDRs of their Node: %s. NR-PODIP-1 would deny such "+
			"IPs, and new pods would stay Pending. Set %s", outside.count, checked, &outside, setting)}}, nil
}

// addressesOfNodes returns the Nodes with only the fields that the rule reads, to limit the memory.
func addressesOfNodes(ctx context.Context, in Input) (map[string]*corev1.Node, error) {
	nodes := map[string]*corev1.Node{}
	err := eachNode(ctx, in, "", func(node *corev1.Node) {
		small := &corev1.Node{}
		small.Name = node.Name
		small.Spec.PodCIDR, small.Spec.PodCIDRs = node.Spec.PodCIDR, node.Spec.PodCIDRs
		small.Status.Addresses = node.Status.Addresses
		nodes[node.Name] = small
	})
	return nodes, err
}
