// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The IDs of the rules of the kubelet's API.
const (
	RulePathEmptySegment rules.ID = "KA-PATH-1"
	RulePathDotSegment   rules.ID = "KA-PATH-2"
	RulePathBytes        rules.ID = "KA-PATH-3"
	RulePathLookAlike    rules.ID = "KA-PATH-4"
	RuleMethodNotServed  rules.ID = "KA-METHOD-1"
	RuleMethodNoVerb     rules.ID = "KA-METHOD-2"

	RuleAuthenticated rules.ID = "KA-AUTH-1"
	RuleAnonymous     rules.ID = "KA-ANON-1"
	RuleRevoked       rules.ID = "KA-CRL-1"
	RuleCredential    rules.ID = "KA-REVOKE-1"
	RuleAudience      rules.ID = "KA-AUD-1"

	RulePods       rules.ID = "KA-POD-1"
	RuleHealth     rules.ID = "KA-HEALTH-1"
	RuleStatus     rules.ID = "KA-STATUS-1"
	RuleConfig     rules.ID = "KA-CONFIG-1"
	RuleStats      rules.ID = "KA-STATS-1"
	RuleMetrics    rules.ID = "KA-METRICS-1"
	RuleComponents rules.ID = "KA-METRICS-2"
	RuleLog        rules.ID = "KA-LOG-1"
	RuleCheckpoint rules.ID = "KA-CHECKPOINT-1"
	RuleProxy      rules.ID = "KA-PROXY-1"

	RuleExec          rules.ID = "KA-EXEC-1"
	RuleAttach        rules.ID = "KA-ATTACH-1"
	RulePortForward   rules.ID = "KA-PORT-1"
	RuleRun           rules.ID = "KA-RUN-1"
	RuleContainerLogs rules.ID = "KA-CLOG-1"
	RuleDebug         rules.ID = "KA-DEBUG-1"
	RuleUpgrade       rules.ID = "KA-UPGRADE-1"
	RuleUnknown       rules.ID = "KA-UNKNOWN-1"

	RuleDecision rules.ID = "KA-DECISION-1"
	RuleStream   rules.ID = "KA-STREAM-1"
	RuleHeader   rules.ID = "KA-HEADER-1"
	RuleRedirect rules.ID = "KA-REDIRECT-1"
	RuleLimit    rules.ID = "KA-LIMIT-1"
	RuleLoopback rules.ID = "KA-LOOPBACK-1"
	RuleVAP      rules.ID = "KA-VAP-1"
	RuleCSR      rules.ID = "KA-CSR-1"

	RuleAuditLog rules.ID = "KA-AUDIT-1"
	RuleShare    rules.ID = "KA-LIMIT-2"
)

// Rules are all rules of the component, in the order of its documentation: rules that deny before
// authorization, the kubelet's own rights for each path, the stricter rights, and the rules for
// everything else. It includes rules that other packages enforce, so that there is one table.
var Rules = slices.Concat(beforeRules, pathRules, strictRules, aroundRules)

// beforeRules deny a request before any authorizer is called.
var beforeRules = []rules.Rule{
	{
		ID: RulePathEmptySegment,
		Description: "A path begins with a slash and has no empty segment (\"//\"). One slash at its end is " +
			"allowed. Any other path gets a 400.",
		Source: "Bulkhead: the kubelet authorizes the path as it came (pkg/kubelet/server/auth.go isSubpath) and cleans " +
			"it afterwards (net/http ServeMux)",
		Extension: true,
	},
	{
		ID:          RulePathDotSegment,
		Description: "A path has no segment \".\" or \"..\", encoded or not. A path with one gets a 400.",
		Source:      "Bulkhead: as KA-PATH-1; RFC 3986 section 5.2.4",
		Extension:   true,
	},
	{
		ID: RulePathBytes,
		Description: "A path is printable UTF-8 and encoded once: no encoded slash, no backslash, no NUL or other " +
			"control character, nothing that is encoded twice. Any other path gets a 400.",
		Source:    "Bulkhead: RFC 3986 section 7.3; the path is also what the audit line shows",
		Extension: true,
	},
	{
		ID: RulePathLookAlike,
		Description: "A path does not begin with an endpoint of the kubelet in another case, or with characters " +
			"after its name (\"/Exec/\", \"/exec;a/\", \"/exec./\"). Such a path gets a 400.",
		Source:    "Bulkhead: RFC 3986 section 6.2.2.1; the kubelet compares paths in their case",
		Extension: true,
	},
	{
		ID:          RuleMethodNotServed,
		Description: "CONNECT and TRACE, and websockets over HTTP/2, get a 405. The kubelet serves none of them.",
		Source:      "Bulkhead: RFC 9110 sections 9.3.6 and 9.3.8, RFC 8441",
		Extension:   true,
	},
	{
		ID: RuleComponents,
		Description: "The proxy itself serves /metrics/bulkhead/COMPONENT: the metrics of a component of Bulkhead on " +
			"this node, to users who may read /metrics. Only GET and HEAD without a protocol upgrade are served. Any " +
			"other request gets a 405. Nothing that the client sends reaches the component.",
		Source:    "Bulkhead: the components serve their metrics on 127.0.0.1, which Prometheus does not reach",
		Extension: true,
	},
	{
		ID: RuleLimit,
		Description: "Each client has a limited share of connections, of the size of its requests, of the time to " +
			"send them, and of the calls to the API server that its credentials cause. A request beyond these " +
			"gets a 431, 413, 408 or 429, or its connection is closed. Other clients are not affected.",
		Source: "Bulkhead: the kubelet asks the API server about every token it has not seen (cmd/kubelet/app/auth.go " +
			"BuildAuthn)",
		Extension: true,
	},
	{
		ID: RuleAuthenticated,
		Description: "A request without valid credentials gets a 401. Valid are a client certificate of the " +
			"cluster's client CA, and a bearer token that the API server accepts, in a header or as a websocket " +
			"sub-protocol.",
		Source: "cmd/kubelet/app/auth.go BuildAuthn; \"Kubelet Authentication / Authorization\" (design-proposals-archive)",
	},
	{
		ID: RuleAnonymous,
		Description: "A request without credentials is system:anonymous only if the operator has turned that on. " +
			"A request with rejected credentials is never anonymous and gets a 401.",
		Source: "cmd/kubelet/app/auth.go BuildAuthn; \"Kubelet Authentication / Authorization\" (design-proposals-archive)",
	},
	{
		ID: RuleRevoked,
		Description: "A client certificate gets a 401 if a revocation list names it or a CA in any of its chains, " +
			"and, unless the operator has set --client-crl-expired=allow, if the list of its CA has expired. Removing a " +
			"list does not undo a revocation, also after a restart.",
		Source: "Bulkhead: \"Kubelet Authentication / Authorization\" (design-proposals-archive), Future Work; RFC " +
			"5280 section 6.3",
		Extension: true,
	},
	{
		ID: RuleCredential,
		Description: "A request gets a 401 if the cluster's list of revoked credentials has the ID of its credential " +
			"(the SHA-256 of a client certificate, or the ID of a token), or the node that is its user.",
		Source:    "Bulkhead: the kubelet knows no revocation; the ID is that of KEP-4193",
		Extension: true,
	},
	{
		ID: RuleAudience,
		Description: "A bearer token for the audience of the API server does not authenticate at a kubelet: an " +
			"attacker with control of the node could use it at the API server.",
		Source:    "Bulkhead: the kubelet sends no audiences (cmd/kubelet/app/auth.go BuildAuthn)",
		Extension: true,
		Optional:  true,
		Audited:   true,
	},
}
