// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// centrallySet reserves the keys of node-restriction.kubernetes.io. Administrators use them because
// nodes cannot set them. A general prefix that happens to include them does not allow them.
var centrallySet = reservation{
	matches: func(key string) bool { return inDomain(key, corev1.LabelNamespaceNodeRestriction) },
	named: func(beginning string) bool {
		return strings.Contains(beginning, corev1.LabelNamespaceNodeRestriction)
	},
}

// ofTheControlPlane reserves the keys of taints that the control plane sets and removes when a
// node's condition changes. A prefix never makes them sticky.
var ofTheControlPlane = reservation{
	matches: func(key string) bool {
		return inDomain(key, "node.kubernetes.io") || inDomain(key, "node.cloudprovider.kubernetes.io")
	},
}

// setByOthers reserves the keys that administrators and the control plane set. A prefix that happens
// to include them does not let a node change such taints of its Node.
var setByOthers = reservation{
	matches: func(key string) bool { return centrallySet.matches(key) || ofTheControlPlane.matches(key) },
	named:   centrallySet.named,
}

// neverSticky are the keys that cannot be sticky even if an entry names them: a node that registers
// has or lacks these taints because of its own condition.
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

// inDomain reports whether the part of the key before the slash is the domain or a subdomain of it.
func inDomain(key, domain string) bool {
	namespace, _, found := strings.Cut(key, "/")
	return found && (namespace == domain || strings.HasSuffix(namespace, "."+domain))
}
