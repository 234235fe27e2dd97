// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2/textlogger"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditfindings"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/proxy"
)

// textLine returns the line that klog writes for these pairs.
func textLine(pairs ...any) string {
	var out bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out)))
	logger.Info(auditfindings.LogMessage, pairs...)
	return out.String()
}

func proxyLine(t testing.TB, event proxy.AuditEvent) string {
	t.Helper()
	line, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

func TestLogLines(t *testing.T) {
	webhookLine := textLine("uid", "u", "user", `system:node:"a b`, "operation", "CREATE", "group", "",
		"resource", "nodes", "subresource", "", "namespace", "", "name", "a", "dryRun", false,
		"rule", "NR-LABEL-1", "node", "a",
		"reason", `node "a" is not allowed to set the following labels: x`)
	want := Finding{Rule: "NR-LABEL-1", User: `system:node:"a b`, Verb: "create", Resource: "nodes", Name: "a",
		Reason: `node "a" is not allowed to set the following labels: x`}
	for _, tc := range []struct {
		name, line string
		want       []Finding
	}{
		{"node-restriction", webhookLine, []Finding{want}},
		{"with the prefix of a container runtime", "2026-01-02T03:04:05Z stderr F " + webhookLine, []Finding{want}},
		{"node-authorizer", textLine("user", "system:node:a", "verb", "list", "group", "coordination.k8s.io", "resource",
			"leases", "subresource", "status", "namespace", "ns", "name", "", "path", "", "rule", "NA-LEASE-1", "node", "a",
			"reason", "no"), []Finding{{Rule: "NA-LEASE-1", User: "system:node:a", Verb: "list",
			Resource: "leases/status.coordination.k8s.io", Namespace: "ns", Reason: "no"}}},
		{"path", textLine("user", "u", "verb", "get", "resource", "", "path", "/x", "rule", "NA-DEFAULT", "reason", "no"),
			[]Finding{{Rule: "NA-DEFAULT", User: "u", Verb: "get", Name: "/x", Reason: "no"}}},
		{"component with JSON logs", `{"ts":1.5,"msg":"NODE DENY, not enforced","user":"u","verb":"get","resource":"pods",` +
			`"rule":"NA-POD-1"}`, []Finding{{Rule: "NA-POD-1", User: "u", Verb: "get", Resource: "pods"}}},
		{"denial: not a finding", strings.Replace(webhookLine, "NODE DENY, not enforced", "Not admitted", 1), nil},
		{"the message in a value: not a finding", strings.Replace(textLine("reason",
			`"NODE DENY, not enforced" rule="NA-POD-1"`), "NODE DENY, not enforced", "Other", 1), nil},
		{"kubelet-auth-proxy", proxyLine(t, proxy.AuditEvent{Stage: "request", User: "alice", Node: "a", Method: "POST",
			Path: "/exec/x", Verb: "create", Subresource: "proxy", Findings: []string{"KA-EXEC-1"}}),
			[]Finding{{Rule: "KA-EXEC-1", User: "alice", Verb: "create", Resource: "nodes/proxy", Name: "a", Node: "a",
				Reason: "POST /exec/x"}}},
		{"kubelet-auth-proxy, before the request is forwarded", proxyLine(t, proxy.AuditEvent{Stage: "begin",
			Findings: []string{"KA-EXEC-1"}}), nil},
		{"kubelet-auth-proxy, no finding", proxyLine(t, proxy.AuditEvent{Stage: "request"}), nil},
		{"not JSON", `{"findings": [`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, logFindings([]byte(tc.line)), cmp.AllowUnexported(Finding{})); diff != "" {
				t.Errorf("%s(-want +got):\n%s", tc.line, diff)
			}
		})
	}
}

func TestReadLogs(t *testing.T) {
	line := textLine("user", "u\x1b[2J", "verb", "get", "resource", "pods", "rule", "NA-POD-1", "reason", "no\x1b")
	in := "hello\n" + line + line + strings.Repeat("x", maxLogLine+1<<17) + "\n" +
		textLine("user", "u", "verb", "get", "rule", "not a rule")
	var r Report
	stats, err := r.ReadLogs(strings.NewReader(in))
	if err != nil || stats != (LineStats{Lines: 5, Findings: 3, TooLong: 1}) {
		t.Errorf("%+v, %v", stats, err)
	}
	entries := r.Entries()
	if len(entries) != 1 || entries[0].Requests != 2 || entries[0].Users != 1 || r.Omitted() != 1 {
		t.Fatalf("%+v, omitted %d", entries, r.Omitted())
	}
	if e := entries[0].Example; e.User != "u\ufffd[2J" || e.Reason != "no\ufffd" {
		t.Errorf("%+v", e)
	}
	if _, err := r.ReadLogs(iotest.ErrReader(iotest.ErrTimeout)); err == nil {
		t.Error("no error")
	}
}

func TestReadMetrics(t *testing.T) {
	const in = `# HELP bulkhead_audit_findings_total [ALPHA] Requests
# TYPE bulkhead_audit_findings_total counter
bulkhead_audit_findings_total{entry="node-scope",rule="NA-POD-1",user="system:node:\"a\\b\n"} 3
bulkhead_audit_findings_total{rule="NA-POD-1",user="other"} 1e+01 1700000000
bulkhead_audit_findings_total{rule="NA-POD-2",user="u"} 5e+09
bulkhead_audit_findings_total{rule="NA-POD-3",user="u"} 1e+300
bulkhead_audit_findings_total{rule="NA-POD-3",user="u"} +Inf
bulkhead_audit_findings_total{rule="NA-POD-1",user="u"} NaN
bulkhead_audit_findings_total{rule="NA-POD-1",user="u"} 0
bulkhead_audit_findings_total{rule="NA-POD-1",user="u
bulkhead_audit_findings_total{rule="NA-POD-1"
bulkhead_audit_findings_total{rule="NA-POD-1\
bulkhead_audit_findings_total{user="u"} 1
bulkhead_audited_refusals_total{rule="NA-POD-1"} 4
`
	var r Report
	stats, err := r.ReadMetrics(strings.NewReader(in))
	if err != nil || stats.Findings != 5 {
		t.Errorf("%+v, %v", stats, err)
	}
	entries := r.Entries()
	if len(entries) != 3 {
		t.Fatalf("%+v", entries)
	}
	if most := entries[0].Requests; most != maxCount {
		t.Errorf("%d requests, want %d at most", most, int64(maxCount))
	}
	if large := entries[1].Requests; large != 5_000_000_000 {
		t.Errorf("%d requests, want 5e+09", large)
	}
	e := entries[2]
	if e.Requests != 13 || e.Users != 1 || !e.ManyUsers || e.Example != nil ||
		e.FirstUsers[0] != "system:node:\"a\\b\ufffd" {
		t.Errorf("%+v", e)
	}
}

func TestReportIsBounded(t *testing.T) {
	var r Report
	for i := range 2 * maxUsers {
		r.Add(Finding{Rule: "NA-POD-1", User: strings.Repeat("u", 1000) + string(rune('a'+i%26)), Verb: "get"})
		r.Add(Finding{Rule: "NA-DEFAULT", User: "user-" + strings.Repeat("x", i%50) + string(rune(0x4e00+i)), Verb: "get",
			Binding: "b", Resource: string(rune(0x4e00 + i))})
	}
	entries := r.Entries()
	if len(entries) > maxGroups || r.Omitted() == 0 {
		t.Errorf("%d entries, %d omitted", len(entries), r.Omitted())
	}
}

// TestRemedyWithoutKeysIsComplete: metrics have no keys. Then no setting precedes the remedy.
func TestRemedyWithoutKeysIsComplete(t *testing.T) {
	var metrics strings.Builder
	for _, rule := range allRules {
		metrics.WriteString(auditfindings.MetricName + `{rule="` + string(rule.ID) + `",user="u"} 1` + "\n")
	}
	var r Report
	if _, err := r.ReadMetrics(strings.NewReader(metrics.String())); err != nil {
		t.Fatal(err)
	}
	for _, e := range r.Entries() {
		s := e.Setting
		for _, text := range []string{s.Then, s.Remedy, s.GivesUp} {
			if strings.Contains(text, "  ") {
				t.Errorf("%s: a word is missing: %s", e.Rule, text)
			}
		}
		first, _, _ := strings.Cut(s.Remedy, " ")
		if len(s.Fields) == 0 && (first == "Or" || first == "Then" || s.Then != "") {
			t.Errorf("%s: nothing is before %q %q", e.Rule, s.Then, s.Remedy)
		}
	}
}
