// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// windowsFindings names the Windows nodes. The DaemonSet of kubelet-auth-proxy selects only Linux
// nodes, and `bulkhead node install` runs only on Linux. The installation does not fail there: it
// sets --kubelet-certificate-authority only once all kubelets have a certificate of the cluster.
func windowsFindings(ctx context.Context, in Input) ([]Finding, error) {
	if !in.GuardsKubelets {
		return nil, nil
	}
	const check = "Windows nodes"
	var found examples
	err := eachNode(ctx, in, corev1.LabelOSStable+"=windows", func(node *corev1.Node) { found.add(node.Name) })
	if err != nil {
		return nil, err
	}
	if found.count == 0 {
		return []Finding{{OK, check, "none"}}, nil
	}
	return []Finding{{Warn, check,
		fmt.Sprintf("%s: kubelet-auth-proxy runs only on Linux, so it does not protect these kubelets. kube-apiserver "+
			"verifies the certificates of kubelets only after every kubelet has one of the cluster's CA. So set "+
			"serverTLSBootstrap: true in the KubeletConfiguration of these nodes. Or leave out "+
			"kubelet-auth-proxy on all nodes: `kubeletAPI: {enabled: false}` in the Installation, or --kubelet-api=false",
			&found)}}, nil
}

// leftOutFindings names the Linux nodes that the selector leaves out. kube-apiserver has one CA for
// all kubelets, so these nodes count as the others do.
func leftOutFindings(ctx context.Context, in Input) ([]Finding, error) {
	if !in.GuardsKubelets || in.NodeSelector == "" {
		return nil, nil
	}
	const check = "nodes without kubelet-auth-proxy"
	selector, err := labels.Parse(in.NodeSelector)
	if err != nil {
		return []Finding{{Fail, check, fmt.Sprintf("kubeletAPI.nodeSelector %q: %v", in.NodeSelector, err)}}, nil
	}
	var found examples
	err = eachNode(ctx, in, corev1.LabelOSStable+"!=windows", func(node *corev1.Node) {
		if !selector.Matches(labels.Set(node.Labels)) {
			found.add(node.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	if found.count == 0 {
		return []Finding{{OK, check, "none"}}, nil
	}
	return []Finding{{Warn, check,
		fmt.Sprintf("%s: kubeletAPI.nodeSelector leaves them out, so these kubelets are not protected. kube-apiserver has "+
			"one CA for all kubelets, and verifies their certificates only after every kubelet has one of the cluster's CA. So "+
			"set serverTLSBootstrap: true in the KubeletConfiguration of these nodes", &found)}}, nil
}
