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

// Rules are all the promises of the component, in the order of its documentation:
// what refuses before anybody is asked, what each path needs as the kubelet has it,
// what it needs beyond that, and what holds around it. Those that this package does
// not enforce itself are here, too, so that there is one table.
var Rules = slices.Concat(beforeRules, pathRules, strictRules, aroundRules)
