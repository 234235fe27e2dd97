// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// aroundRules apply to the authorizer's answer and to the proxy as a whole.
var aroundRules = []rules.Rule{
	{
		ID:          RuleDecision,
		Description: "Without a decision nothing is forwarded: an authorizer that could not be asked is answered 500.",
		Source:      "pkg/kubelet/server/server.go InstallAuthFilter",
	},
	{
		ID: RuleStream,
		Description: "A stream does not outlive its right: while it is open, the API server is asked again, past every" +
			" cache, who has it and whether they may. It ends if it is not allowed any more.",
		Source:    "Bulkhead: the kubelet asks once, and its streams have no end",
		Extension: true,
	},
	{
		ID: RuleHeader,
		Description: "What the kubelet receives says nothing of the caller's making about who is calling: Authorization, " +
			"Impersonate-*, X-Remote-*, X-Forwarded-*, the " +
			"bearer token of a sub-protocol and hop-by-hop headers are not forwarded.",
		Source:    "Bulkhead: RFC 9110 section 7.6.1; the kubelet knows one caller, the proxy",
		Extension: true,
	},
	{
		ID: RuleRedirect,
		Description: "No redirect of the kubelet is followed, and none is returned but one to the same path with a slash " +
			"more or less at its end, or without " +
			"index.html, as the kubelet has them for files. Any other, and every redirect of an upgrade, becomes a 502.",
		Source:    "Bulkhead: CVE-2020-8559; net/http ServeMux and FileServer, behind /logs/",
		Extension: true,
	},
	{
		ID: RuleLoopback,
		Description: "The kubelet itself listens on 127.0.0.1 and trusts one certificate, the proxy's: any other caller is " +
			"answered 401, whatever its rights.",
		Source:    "Bulkhead: a pod on the host's network reaches loopback, with a token of its own",
		Extension: true,
	},
	{
		ID: RuleVAP,
		Description: "Through the API server, CONNECT to nodes/proxy also needs what strict asks for at the node's " +
			"port, whatever the method: create on nodes/exec, nodes/attach, nodes/run, nodes/portforward, " +
			"nodes/checkpoint or nodes/unknown; get on nodes/containerlogs, nodes/debug, nodes/metrics, " +
			"nodes/stats, nodes/log, nodes/statusz, nodes/pods, nodes/healthz or nodes/configz; update on " +
			"nodes/debug for /debug/flags. get on nodes/proxy is enough for /pods, /runningpods, /healthz and" +
			" /configz. An unclean path is refused.",
		Source: "Bulkhead: the API server asks for the verb of the method on nodes/proxy, and reaches the kubelet as " +
			"itself",
		Extension: true,
		Optional:  true,
	},
	{
		ID: RuleCSR,
		Description: "A kubelet-serving certificate signing request is approved only for a Node that exists, by that node, " +
			"for its own name, its own addresses, which nobody else has, and the " +
			"usages of a serving certificate. Others are left to an administrator.",
		Source:    "Bulkhead: Kubernetes has no approver for kubernetes.io/kubelet-serving",
		Extension: true,
	},
	{
		ID: RuleAuditLog,
		Description: "A request that is allowed has a line in the audit log before the kubelet receives it. If the " +
			"line cannot be written within a second, the request is answered 503.",
		Source:    "Bulkhead: as kube-apiserver with --audit-log-mode=blocking-strict; the kubelet has no audit log",
		Extension: true,
		Optional:  true,
	},
	{
		ID: RuleShare,
		Description: "Of the streams of one user, a namespace has no more than are still free: one namespace alone " +
			"gets half of them, and there is always a free one for another namespace. One more is answered " +
			"429.",
		Source:    "Bulkhead: to a kubelet, kubectl of every tenant is one user, the API server",
		Extension: true,
		Optional:  true,
	},
}
