// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// aroundRules apply to the authorizer's answer and to the proxy as a whole.
var aroundRules = []rules.Rule{
	{
		ID: RuleDecision,
		Description: "The proxy forwards nothing without a decision. If it cannot reach the authorizer, the " +
			"request gets a 500.",
		Source: "pkg/kubelet/server/server.go InstallAuthFilter",
	},
	{
		ID: RuleStream,
		Description: "A stream ends when its right ends. While it is open, the proxy checks at the API server " +
			"who the caller is and whether the request is still allowed. No cached answer counts that is older than " +
			"5 s. If the request is not allowed, the proxy closes the stream.",
		Source:    "Bulkhead: the kubelet asks once, and its streams have no end",
		Extension: true,
	},
	{
		ID: RuleHeader,
		Description: "The proxy forwards no header in which a caller could claim an identity: Authorization, " +
			"Impersonate-*, X-Remote-*, X-Forwarded-*, the bearer token of a sub-protocol, and hop-by-hop " +
			"headers.",
		Source:    "Bulkhead: RFC 9110 section 7.6.1; the kubelet knows one caller, the proxy",
		Extension: true,
	},
	{
		ID: RuleRedirect,
		Description: "The proxy follows no redirect of the kubelet. It returns only a redirect to the same path " +
			"with one slash more or less at its end, or without index.html, as the kubelet sends for files. Any " +
			"other redirect, and every redirect of an upgrade, becomes a 502.",
		Source:    "Bulkhead: CVE-2020-8559; net/http ServeMux and FileServer, behind /logs/",
		Extension: true,
	},
	{
		ID: RuleLoopback,
		Description: "The kubelet itself listens on 127.0.0.1 and accepts only the proxy's certificate. Every " +
			"other caller gets a 401, unless the node was installed with --loopback-clients=allow.",
		Source:    "Bulkhead: a pod on the host's network reaches loopback, with a token of its own",
		Extension: true,
	},
	{
		ID: RuleVAP,
		Description: "Through the API server, CONNECT to nodes/proxy also needs the right that mode strict needs " +
			"at the node's port, with every method: create on nodes/exec, nodes/attach, nodes/run, " +
			"nodes/portforward, nodes/checkpoint or nodes/unknown; get on nodes/containerlogs, nodes/debug, " +
			"nodes/metrics, nodes/stats, nodes/log, nodes/statusz, nodes/pods, nodes/healthz or nodes/configz; " +
			"update on nodes/debug for /debug/flags. For /pods, /runningpods, /healthz and /configz, get on " +
			"nodes/proxy is enough. A path that the rules KA-PATH reject is denied.",
		Source: "Bulkhead: the API server asks for the verb of the method on nodes/proxy, and reaches the kubelet as " +
			"itself",
		Extension: true,
		Optional:  true,
	},
	{
		ID: RuleCSR,
		Description: "A certificate signing request for kubelet-serving is approved only for an existing Node, on " +
			"request of that node. The names and addresses are its own, no other Node has them, and the usages " +
			"are those of a serving certificate. Other requests are left to an administrator.",
		Source:    "Bulkhead: Kubernetes has no approver for kubernetes.io/kubelet-serving",
		Extension: true,
	},
	{
		ID: RuleAuditLog,
		Description: "The proxy writes a line to the audit log before it forwards an allowed request. If it " +
			"cannot write the line within a second, the request gets a 503.",
		Source:    "Bulkhead: as kube-apiserver with --audit-log-mode=blocking-strict; the kubelet has no audit log",
		Extension: true,
		Optional:  true,
	},
	{
		ID: RuleShare,
		Description: "A namespace has at most as many of a user's streams as are still free. So one namespace " +
			"alone gets half of them, and one is always free for another namespace. One more gets a 429.",
		Source:    "Bulkhead: to a kubelet, kubectl of every tenant is one user, the API server",
		Extension: true,
		Optional:  true,
	},
}
