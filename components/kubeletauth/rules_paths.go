// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// pathRules are the kubelet's own mapping. They allow a user with one of the rights, and deny every
// other user with 403.
var pathRules = []rules.Rule{
	{
		ID: RuleMethodNoVerb,
		Description: "POST is the verb create, GET is get, PUT is update, PATCH is patch and DELETE is delete. A " +
			"request with another method has no verb, and only a right to every verb (\"*\") allows it. In mode " +
			"strict, HEAD is get.",
		Source: "pkg/kubelet/server/auth.go GetRequestAttributes",
	},
	{
		ID: RulePods,
		Description: "/pods, /runningpods and /allocatedPods need the verb on nodes/pods or on nodes/proxy. In " +
			"mode strict, nodes/proxy is enough only for GET or HEAD of /pods and /runningpods.",
		Source: "pkg/kubelet/server/auth.go GetRequestAttributes; KEP-2862",
	},
	{
		ID: RuleHealth,
		Description: "/healthz and the paths below it need the verb on nodes/healthz or on nodes/proxy. In mode " +
			"strict, nodes/proxy is enough only for GET and HEAD.",
		Source: "pkg/kubelet/server/auth.go GetRequestAttributes; KEP-2862",
	},
	{
		ID: RuleConfig,
		Description: "/configz needs the verb on nodes/configz or on nodes/proxy. /flagz needs it on " +
			"nodes/configz. In mode strict, nodes/proxy is enough only for GET and HEAD.",
		Source: "pkg/kubelet/server/auth.go GetRequestAttributes; KEP-2862",
	},
	{
		ID:          RuleStatus,
		Description: "/statusz needs the verb on nodes/statusz.",
		Source:      "pkg/kubelet/server/auth.go GetRequestAttributes",
	},
	{
		ID:          RuleStats,
		Description: "/stats/ and the paths below it need the verb on nodes/stats.",
		Source:      "pkg/kubelet/server/auth.go GetRequestAttributes",
	},
	{
		ID:          RuleMetrics,
		Description: "/metrics and the paths below it need the verb on nodes/metrics.",
		Source:      "pkg/kubelet/server/auth.go GetRequestAttributes",
	},
	{
		ID:          RuleLog,
		Description: "/logs/ and the paths below it, the log files of the node, need the verb on nodes/log.",
		Source:      "pkg/kubelet/server/auth.go GetRequestAttributes",
	},
	{
		ID:          RuleCheckpoint,
		Description: "/checkpoint/ and the paths below it need the verb on nodes/checkpoint.",
		Source:      "pkg/kubelet/server/auth.go GetRequestAttributes",
	},
	{
		ID:          RuleProxy,
		Description: "Every other path needs the verb on nodes/proxy.",
		Source:      "pkg/kubelet/server/auth.go GetRequestAttributes",
	},
}

// websocketHole is the reason why verb create is required, whatever the method.
const websocketHole = "Bulkhead: the kubelet asks for the verb of the method on nodes/proxy, and a websocket begins " +
	"with GET (kubernetes/kubernetes#119640, #136550)"

// strictRules replace rules of the kubelet's own mapping where they are enforced. They deny with
// 403.
var strictRules = []rules.Rule{
	{
		ID:          RuleExec,
		Description: "/exec/ needs create on nodes/exec with every method. A right to nodes/proxy is not enough.",
		Source:      websocketHole,
		Extension:   true,
		Optional:    true,
	},
	{
		ID: RuleAttach,
		Description: "/attach/ needs create on nodes/attach with every method. A right to nodes/proxy is not " +
			"enough.",
		Source:    websocketHole,
		Extension: true,
		Optional:  true,
	},
	{
		ID: RulePortForward,
		Description: "/portForward/ needs create on nodes/portforward with every method. A right to nodes/proxy " +
			"is not enough.",
		Source:    websocketHole,
		Extension: true,
		Optional:  true,
	},
	{
		ID:          RuleRun,
		Description: "/run/ needs create on nodes/run with every method. A right to nodes/proxy is not enough.",
		Source:      websocketHole,
		Extension:   true,
		Optional:    true,
	},
	{
		ID: RuleContainerLogs,
		Description: "/containerLogs/ needs the verb on nodes/containerlogs. A right to nodes/proxy is not " +
			"enough.",
		Source:    "Bulkhead: the kubelet asks for nodes/proxy, so that who may read logs may exec",
		Extension: true,
		Optional:  true,
	},
	{
		ID: RuleDebug,
		Description: "/debug/ and the paths below it need the verb on nodes/debug. A right to nodes/proxy is not " +
			"enough.",
		Source:    "Bulkhead: the kubelet asks for nodes/proxy, so that who may profile may exec",
		Extension: true,
		Optional:  true,
	},
	{
		ID: RuleUpgrade,
		Description: "A request for a protocol upgrade on any other path needs create on the subresource of that " +
			"path, with every method. A right to nodes/proxy is not enough.",
		Source:    "Bulkhead: a websocket begins with GET; kubernetes/kubernetes#133515 is the same for the API server",
		Extension: true,
		Optional:  true,
	},
	{
		ID: RuleUnknown,
		Description: "A path that the kubelet of Kubernetes 1.37 does not have needs create on nodes/unknown, " +
			"with every method. A right to nodes/proxy is not enough.",
		Source:    "Bulkhead: a newer kubelet could have anything there",
		Extension: true,
		Optional:  true,
	},
}
