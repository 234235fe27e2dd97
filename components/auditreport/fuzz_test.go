// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"strings"
	"testing"
	"unicode"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/proxy"
)

// checkReport checks that a report is printable, and that its settings make a valid Installation.
func checkReport(t *testing.T, r *Report) {
	entries := r.Entries()
	for _, e := range entries {
		texts := []string{string(e.Rule), e.Binding, e.Request, e.Setting.Remedy}
		texts = append(texts, e.FirstUsers...)
		if e.Example != nil {
			texts = append(texts, e.Example.User, e.Example.Verb, e.Example.Resource, e.Example.Namespace, e.Example.Name,
				e.Example.Reason)
		}
		for _, field := range e.Setting.Fields {
			texts = append(texts, field.String())
		}
		for _, text := range texts {
			if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q is not printable", text)
			}
		}
	}
	c, _, err := Merge(defaults(), hardenedPolicy(t), entries)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := installation.Parse(text); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func FuzzLogs(f *testing.F) {
	f.Add([]byte(textLine("user", "u", "operation", "CREATE", "resource", "nodes", "rule", "NR-LABEL-1", "reason",
		`node "a" is not allowed to set the following labels: x, y/z and 3 more`)))
	f.Add([]byte(textLine("user", "u\x1b", "rule", "NR-ANNOTATION-1", "reason", "set the following annotations: A/b, *")))
	f.Add([]byte(`{"msg":"NODE DENY, not enforced","rule":"NR-TAINT-1","user":"u","verb":"create","reason":"x"}`))
	f.Add([]byte(proxyLine(f, proxy.AuditEvent{Stage: "request", Findings: []string{"KA-EXEC-1"}})))
	f.Fuzz(func(t *testing.T, in []byte) {
		var r Report
		_, _ = r.ReadLogs(strings.NewReader(string(in)))
		checkReport(t, &r)
	})
}

func FuzzMetrics(f *testing.F) {
	f.Add([]byte("bulkhead_audit_findings_total{rule=\"NA-POD-1\",user=\"a\\\"b\\n\"} 3\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var r Report
		_, _ = r.ReadMetrics(strings.NewReader(string(in)))
		checkReport(t, &r)
	})
}

func FuzzAuditLog(f *testing.F) {
	nodes := auditv1.ObjectReference{Resource: "nodes", Name: "worker-1"}
	f.Add([]byte(logOf(f, event("create", nodes, requestObject(workerNode(label("x"))), byRBAC("b")))))
	f.Add([]byte(logOf(f, event("create", auditv1.ObjectReference{Resource: "pods"}, requestObject(mirrorPod(noEdit))))))
	f.Add([]byte(logOf(f, event("get", nodes, annotation("node-restriction.bulkhead.dev/would-refuse",
		"is not allowed to set the following taints: x… [NR-TAINT-1]"),
		annotation("node-restriction.bulkhead.dev/audited-rules", "NR-LABEL-1,NR-TAINT-1")))))
	policy := parsePolicy(f, hardenedPolicy(f))
	f.Fuzz(func(t *testing.T, in []byte) {
		var r Report
		_ = NewAuditLog(&r, policy, true).Read(t.Context(), strings.NewReader(string(in)))
		checkReport(t, &r)
	})
}
