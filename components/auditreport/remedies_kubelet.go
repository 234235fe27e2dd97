// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// kubeletRemedies say what allows a request to a kubelet that a rule without a mode denies.
var kubeletRemedies = map[rules.ID]string{
	"KA-PATH-1": "Send a path that begins with a slash and has no empty segment. No setting allows another path: " +
		"the kubelet would serve another path than the one that was authorized.",
	"KA-PATH-2": "Send a path without the segments \".\" and \"..\". No setting allows another path: the kubelet " +
		"would serve another path than the one that was authorized.",
	"KA-PATH-3": "Send a printable path that is encoded once, without a backslash or an encoded slash. No setting " +
		"allows another path: programs would decode it in different ways.",
	"KA-PATH-4": "Send the endpoint as the kubelet spells it, for example /exec/. No setting allows another " +
		"spelling, because the kubelet has no such endpoint.",
	"KA-METHOD-1": "Send another method, or a websocket over HTTP/1.1. No setting allows it, because the kubelet " +
		"serves no CONNECT, no TRACE and no websocket over HTTP/2.",
	"KA-METHOD-2": "Send GET, POST, PUT, PATCH or DELETE, in mode strict also HEAD. Another method needs a " +
		"ClusterRole with verb \"*\" on the subresource, bound to the user.",
	"KA-METRICS-2": "Send GET or HEAD without a protocol upgrade. No setting allows another request, because the " +
		"metrics can only be read.",
	"KA-AUTH-1": "Send valid credentials: a client certificate of the cluster's client CA, or a bearer token that " +
		"the API server accepts. Tokens need `kubeletAPI: {authentication: {webhook: {enabled: true}}}`, which is the " +
		"default.",
	"KA-ANON-1": "Send a client certificate or a bearer token. The flag --anonymous-auth of kubelet-auth-proxy " +
		"accepts requests without them, and the Installation has no field for it.",
	"KA-CRL-1": "Use another client certificate. If the list of its CA has expired, publish a new one with " +
		"`bulkhead revoke --crl=FILE`, or set `kubeletAPI: {authentication: {x509: {expiredRevocationLists: allow}}}`.",
	"KA-POD-1": "Grant the verb on nodes/pods with a ClusterRole, bound to the user. `bulkhead kubelet-access` " +
		"lists which rights users lose.",
	"KA-HEALTH-1": "Grant the verb on nodes/healthz with a ClusterRole, bound to the user. `bulkhead " +
		"kubelet-access` lists which rights users lose.",
	"KA-CONFIG-1": "Grant the verb on nodes/configz with a ClusterRole, bound to the user. `bulkhead " +
		"kubelet-access` lists which rights users lose.",
	"KA-STATUS-1": "Grant the verb on nodes/statusz with a ClusterRole, bound to the user. `bulkhead " +
		"kubelet-access` lists which rights users lose.",
	"KA-STATS-1": "Grant the verb on nodes/stats with a ClusterRole, bound to the user. `bulkhead kubelet-access` " +
		"lists which rights users lose.",
	"KA-METRICS-1": "Grant the verb on nodes/metrics with a ClusterRole, bound to the user. `bulkhead " +
		"kubelet-access` lists which rights users lose.",
	"KA-LOG-1": "Grant the verb on nodes/log with a ClusterRole, bound to the user. `bulkhead kubelet-access` lists " +
		"which rights users lose.",
	"KA-CHECKPOINT-1": "Grant the verb on nodes/checkpoint with a ClusterRole, bound to the user. `bulkhead " +
		"kubelet-access` lists which rights users lose.",
	"KA-PROXY-1": "Set --mode=strict of kubelet-auth-proxy, which is the default. It asks for a narrower right: " +
		"create on nodes/exec, nodes/attach, nodes/portforward, nodes/run or nodes/unknown, or the verb on " +
		"nodes/containerlogs or nodes/debug. Grant this right with a ClusterRole, bound to the user. Mode compat asks " +
		"for nodes/proxy. Do not grant that: it lets the user run commands in every pod of the node.",
	"KA-DECISION-1": "Repair the connection from kubelet-auth-proxy to the API server: its log has the error. No " +
		"setting allows a request without a decision.",
	"KA-STREAM-1": "The user has lost the right, or the credentials became invalid, while the stream was open. " +
		"Grant the right again, or use other credentials.",
	"KA-HEADER-1": "The rule removes headers, and denies no request. No setting keeps the headers: let the client " +
		"authenticate as the user that it acts for.",
	"KA-REDIRECT-1": "Do not follow the redirect: the kubelet may be compromised. Request the wanted path directly. " +
		"No setting allows a redirect of the kubelet to another path.",
	"KA-CSR-1": "An administrator can approve the request, after a check of its names and addresses: `kubectl " +
		"certificate approve NAME`.",
}
