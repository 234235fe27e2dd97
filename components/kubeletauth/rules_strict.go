// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// websocketHole is why create counts, whatever the method.
const websocketHole = "Bulkhead: the kubelet asks for the verb of the method on nodes/proxy, and a websocket begins " +
	"with GET (kubernetes/kubernetes#119640, #136550)"

// strictRules take the place of a rule of the kubelet's own mapping where they are
// enforced. They refuse with 403.
var strictRules = []rules.Rule{
	{
		ID:          RuleExec,
		Description: "/exec/ needs create on nodes/exec, whatever the method. No right to nodes/proxy will do.",
		Source:      websocketHole,
		Extension:   true,
		Optional:    true,
	},
	{
		ID:          RuleAttach,
		Description: "/attach/ needs create on nodes/attach, whatever the method. No right to nodes/proxy will do.",
		Source:      websocketHole,
		Extension:   true,
		Optional:    true,
	},
	{
		ID:          RulePortForward,
		Description: "/portForward/ needs create on nodes/portforward, whatever the method. No right to nodes/proxy will do.",
		Source:      websocketHole,
		Extension:   true,
		Optional:    true,
	},
	{
		ID:          RuleRun,
		Description: "/run/ needs create on nodes/run, whatever the method. No right to nodes/proxy will do.",
		Source:      websocketHole,
		Extension:   true,
		Optional:    true,
	},
	{
		ID:          RuleContainerLogs,
		Description: "/containerLogs/ needs the verb on nodes/containerlogs. No right to nodes/proxy will do.",
		Source:      "Bulkhead: the kubelet asks for nodes/proxy, so that who may read logs may exec",
		Extension:   true,
		Optional:    true,
	},
	{
		ID:          RuleDebug,
		Description: "/debug/ and what is below it need the verb on nodes/debug. No right to nodes/proxy will do.",
		Source:      "Bulkhead: the kubelet asks for nodes/proxy, so that who may profile may exec",
		Extension:   true,
		Optional:    true,
	},
	{
		ID: RuleUpgrade,
		Description: "A request for a protocol upgrade on any other path needs create, whatever the method, on the " +
			"subresource of that path. No right to nodes/proxy will " +
			"do.",
		Source:    "Bulkhead: a websocket begins with GET; kubernetes/kubernetes#133515 is the same for the API server",
		Extension: true,
		Optional:  true,
	},
	{
		ID: RuleUnknown,
		Description: "A path that the kubelet of Kubernetes 1.37 does not have needs create on nodes/unknown, whatever the " +
			"method. No right to nodes/proxy will do.",
		Source:    "Bulkhead: a newer kubelet could have anything there",
		Extension: true,
		Optional:  true,
	},
}
