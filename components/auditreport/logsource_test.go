// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/proxy"
)

// TestFindingsByComponent: a log has only findings that its component can have. A compromised node
// writes the log of its own kubelet-auth-proxy.
func TestFindingsByComponent(t *testing.T) {
	webhook := func(rule string) string {
		return textLine("user", "system:node:worker-7", "verb", "create", "resource", "nodes", "rule", rule, "reason", "no")
	}
	inJSON := func(rule, node string) string {
		return `{"msg":"NODE DENY, not enforced","user":"u","verb":"get","node":"` + node + `","rule":"` + rule + "\"}\n"
	}
	line := func(rule, node string) string {
		return proxyLine(t, proxy.AuditEvent{Stage: "request", User: "alice", Node: node, Method: "GET", Path: "/pods",
			Findings: []string{rule}})
	}
	a := ProxyLog("a")
	for _, tt := range []struct {
		name   string
		source LogSource
		line   string
		want   bool
	}{
		{"node-authorizer: its rule", NodeAuthorizerLog, webhook("NA-POD-1"), true},
		{"node-authorizer: rule of node scope", NodeAuthorizerLog, webhook("NS-TOKEN-1"), true},
		{"node-authorizer: rule of node-restriction", NodeAuthorizerLog, webhook("NR-POD-1"), false},
		{"node-restriction: its rule", NodeRestrictionLog, webhook("NR-LABEL-1"), true},
		{"node-restriction: rule of node-authorizer", NodeRestrictionLog, webhook("NA-POD-1"), false},
		{"node-restriction: old token", NodeRestrictionLog, webhook("stale-token"), false},
		{"node-restriction: line of the proxy", NodeRestrictionLog, line("KA-EXEC-1", "a"), false},
		{"proxy: its rule", a, line("KA-EXEC-1", "a"), true},
		{"proxy: line without a node", a, line("KA-EXEC-1", ""), true},
		{"proxy: other node", a, line("KA-EXEC-1", "b"), false},
		{"proxy: rule of node-restriction", a, line("NR-LABEL-1", "a"), false},
		{"proxy: rule of node-authorizer", a, line("NA-POD-1", "a"), false},
		{"proxy: rule of node scope", a, line("NS-TOKEN-1", "a"), false},
		{"proxy: old token", a, line("stale-token", "a"), false},
		{"proxy: clients of 127.0.0.1, which it does not see", a, line("KA-LOOPBACK-1", "a"), false},
		{"proxy: policy of kube-apiserver", a, line("KA-VAP-1", "a"), false},
		{"proxy: rule of the approver", a, line("KA-CSR-1", "a"), false},
		{"proxy: line of a webhook", a, webhook("NR-LABEL-1"), false},
		{"proxy: its rule in a line of a webhook", a, webhook("KA-EXEC-1"), false},
		{"proxy: line of a webhook in JSON", a, inJSON("NR-LABEL-1", "a"), false},
		{"zero value: nothing", LogSource{}, webhook("NA-POD-1"), false},
		{"file of the administrator: any rule", anyLog, webhook("NR-LABEL-1"), true},
		{"file of the administrator: any node", anyLog, line("KA-EXEC-1", "b"), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r Report
			stats, err := r.ReadLogOf(tt.source, strings.NewReader(tt.line))
			if got := len(r.Entries()) == 1 && stats.Findings == 1; err != nil || got != tt.want {
				t.Errorf("%s: %+v, %+v, %v", tt.line, stats, r.Entries(), err)
			}
			if entries := r.Entries(); tt.source.proxy && tt.want && !slices.Equal(entries[0].Nodes, []string{"a"}) {
				t.Errorf("the entry does not name the node: %+v", entries)
			}
		})
	}
}
