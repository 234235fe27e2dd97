// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// centrallySet are the keys of node-restriction.kubernetes.io: administrators set
// them so that nodes cannot. A * that only happens to cover them does not open them.
var centrallySet = reservation{
	holds: func(key string) bool { return inDomain(key, corev1.LabelNamespaceNodeRestriction) },
	named: func(beginning string) bool {
		return strings.Contains(beginning, corev1.LabelNamespaceNodeRestriction)
	},
}

// ofTheControlPlane are the keys of taints that the control plane sets and removes
// as a node's condition changes. No * makes them sticky.
var ofTheControlPlane = reservation{
	holds: func(key string) bool {
		return inDomain(key, "node.kubernetes.io") || inDomain(key, "node.cloudprovider.kubernetes.io")
	},
}

// neverSticky are those of them that cannot be sticky by name either: a node that
// registers has them, or not, for reasons of its own.
var neverSticky = map[string]bool{
	corev1.TaintNodeNotReady:                         true,
	corev1.TaintNodeUnreachable:                      true,
	corev1.TaintNodeMemoryPressure:                   true,
	corev1.TaintNodeDiskPressure:                     true,
	corev1.TaintNodePIDPressure:                      true,
	corev1.TaintNodeNetworkUnavailable:               true,
	"node.cloudprovider.kubernetes.io/uninitialized": true,
	"node.cloudprovider.kubernetes.io/shutdown":      true,
}

// inDomain is true for a key whose part before the slash is the domain or lies
// below it.
func inDomain(key, domain string) bool {
	namespace, _, found := strings.Cut(key, "/")
	return found && (namespace == domain || strings.HasSuffix(namespace, "."+domain))
}
