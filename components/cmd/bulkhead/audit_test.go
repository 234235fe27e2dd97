// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
)

const (
	// registrationLine is the finding of a node with a label that the policy does not list.
	registrationLine = `I0102 03:04:05.000000       1 log.go:49] "NODE DENY, not enforced" ` +
		`uid="1" user="system:node:worker-1" ` +
		`operation="CREATE" group="" resource="nodes" subresource="" namespace="" name="worker-1" dryRun=false ` +
		`rule="NR-LABEL-1" node="worker-1" ` +
		`reason="node \"worker-1\" is not allowed to set the following labels: example.com/rack"` + "\n"
	secretsLine = `I0102 03:04:05.000000       1 log.go:49] "NODE DENY, not enforced" ` +
		`user="system:node:worker-2" verb="list" group="" resource="secrets" subresource="" ` +
		`namespace="ns" name="" path="" rule="NA-SECRET-2" node="worker-2" ` +
		`reason="can only read resources of this type with a field selector"` + "\n"
	execLine = `{"time":"2026-01-02T03:04:05Z","stage":"request","id":1,"user":"alice","node":"worker-1",` +
		`"method":"POST","path":"/exec/ns/p/c","verb":"create","subresource":"proxy",` +
		`"decision":"allowed","findings":["KA-EXEC-1"],"status":200}` + "\n"
	// nodeEvent is the creation of a Node with a label, a taint and its object.
	nodeEvent = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","auditID":"1",` +
		`"stage":"ResponseComplete","requestURI":"/api/v1/nodes","verb":"create",` +
		`"user":{"username":"system:node:worker-1","groups":["system:nodes"]},` +
		`"objectRef":{"resource":"nodes","name":"worker-1","apiVersion":"v1"},"responseStatus":{"code":409},` +
		`"requestObject":{"kind":"Node","apiVersion":"v1",` +
		`"metadata":{"name":"worker-1","labels":{"example.com/rack":"a"}},` +
		`"spec":{"taints":[{"key":"example.com/gpu","effect":"NoSchedule"}]}},` +
		`"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z"}` + "\n"
)

// runAudit runs the command on a host without an installation.
func runAudit(t *testing.T, stdin string, args ...string) (out, errOut string, err error) {
	t.Helper()
	cmd := newAuditCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--state-dir="+t.TempDir()))
	var o, e strings.Builder
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SetIn(strings.NewReader(stdin))
	err = cmd.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func TestAuditOfLogs(t *testing.T) {
	got, _, err := runAudit(t, "unrelated\n"+registrationLine+registrationLine+secretsLine+execLine, "--logs=-")
	if err != nil {
		t.Fatal(err)
	}
	want := `5 lines, 4 with findings

NR-LABEL-1  2 requests of 1 user: system:node:worker-1
  Rule:     If the configuration has allowedLabels, a node registers only with labels of those keys, ` +
		`labels that the kubelet sets by itself, and labels with the same value in its row of the machine table.
  Example:  system:node:worker-1 create nodes worker-1: ` +
		`node "worker-1" is not allowed to set the following labels: example.com/rack
  Setting:  nodePolicy: {allowedLabels: ["example.com/rack"]}
  Gives up: Every node can set these keys, also a compromised one.
  Remedy:   Or remove the label from the kubelet's --node-labels.

KA-EXEC-1  1 request of 1 user: alice
`
	if before, _, _ := strings.Cut(got, "  Rule:     A user"); !strings.HasPrefix(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, before))
	}
	for _, want := range []string{"Setting:  rules: {modes: {KA-EXEC-1: audit}}",
		"Remedy:   For list and watch, name the secret (metadata.name=NAME).", "A finding may be an attack"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

func TestAuditWithoutFindings(t *testing.T) {
	got, _, err := runAudit(t, "a log of another program\n", "--logs=-")
	if err != nil || !strings.HasPrefix(got, "1 line, 0 with findings: no rule in audit mode") {
		t.Errorf("error %v, output %s", err, got)
	}
}

func TestAuditOfMetrics(t *testing.T) {
	const metrics = `bulkhead_audit_findings_total{rule="NR-LABEL-1",user="system:node:a"} 3` + "\n"
	got, _, err := runAudit(t, metrics, "--metrics=-")
	if err != nil || !strings.Contains(got, "NR-LABEL-1  3 requests of 1 user: system:node:a") ||
		!strings.Contains(got, "Keys:     not complete") || !strings.Contains(got, "Note: metrics have no examples") {
		t.Errorf("error %v, output %s", err, got)
	}
}

func TestAuditOfAuditLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(file, []byte(nodeEvent), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err := runAudit(t, "", "--audit-log="+file, "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var result auditResult
	if err := json.Unmarshal([]byte(got), &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Findings) != 2 || result.AuditLog.NodeObjects != 1 || len(result.Notes) != 1 ||
		!strings.Contains(result.Notes[0], "other writes of nodes were not checked") {
		t.Errorf("%s", got)
	}
	// The level Metadata has no object.
	without := strings.Replace(nodeEvent, `"requestObject"`, `"unknown"`, 1)
	if got, _, err = runAudit(t, without, "--audit-log=-"); err != nil ||
		!strings.Contains(got, "needs the audit level Request. `bulkhead preflight` checks the existing Nodes") {
		t.Errorf("error %v, output %s", err, got)
	}
}

func TestAuditUsesThePolicyOfTheFile(t *testing.T) {
	config := filepath.Join(t.TempDir(), "bulkhead.yaml")
	if err := os.WriteFile(config, []byte(`apiVersion: bulkhead.dev/v1alpha1
kind: Installation
nodePolicy:
  apiVersion: noderestriction.admission.k8s.io/v1
  kind: Configuration
  allowedLabels: [example.com/rack]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err := runAudit(t, nodeEvent, "--audit-log=-", "--config="+config)
	if err != nil || strings.Contains(got, "NR-") {
		t.Errorf("error %v, output %s", err, got)
	}
}

func TestAuditInstallation(t *testing.T) {
	got, _, err := runAudit(t, nodeEvent, "--audit-log=-", "-o", "installation")
	if err != nil {
		t.Fatal(err)
	}
	config, err := installation.Parse([]byte(got))
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	for _, want := range []string{
		"#   NR-LABEL-1: nodePolicy: {allowedLabels: [\"example.com/rack\"]} (1 request of 1 user: system:node:worker-1)\n",
		"    - example.com/rack # NR-LABEL-1\n", "    - example.com/gpu # NR-TAINT-1\n", `    - "topology.*"` + "\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if config.Mode != "enforce" {
		t.Errorf("mode %q", config.Mode)
	}
	// With these settings, the same log has no finding.
	file := filepath.Join(t.TempDir(), "bulkhead.yaml")
	if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err = runAudit(t, nodeEvent, "--audit-log=-", "--config="+file)
	if err != nil || strings.Contains(got, "NR-") {
		t.Errorf("error %v, output %s", err, got)
	}
}

// TestAuditInstallationHasTheStepsAfterTheSettings: a setting is not enough for a label of a mirror pod.
func TestAuditInstallationHasTheStepsAfterTheSettings(t *testing.T) {
	const labels = "must not create mirror pods with the following labels: "
	line := strings.NewReplacer("NR-LABEL-1", "NR-MIRROR-3", "is not allowed to set the following labels: ", labels,
		"example.com/rack", "k8s-app", `resource="nodes"`, `resource="pods"`, `namespace=""`, `namespace="ns"`).
		Replace(registrationLine)
	got, _, err := runAudit(t, line, "--logs=-", "-o", "installation")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`#   NR-MIRROR-3: remove ["k8s-app"] from nodePolicy.mirrorPods.deniedLabelKeys (1 request`,
		"Do this before you enforce:\n#   NR-MIRROR-3: Then add the labels k8s-app to the annotation " +
			"node.kubernetes.io/mirror.allowed-label-keys of namespace ns: NR-MIRROR-2 denies them otherwise.",
		"    deniedLabelKeys: []\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if got, _, err = runAudit(t, registrationLine, "--logs=-", "-o", "installation"); err != nil ||
		strings.Contains(got, "Do this") {
		t.Errorf("error %v, a step after a setting that is enough:\n%s", err, got)
	}
}

func TestAuditErrors(t *testing.T) {
	for _, tc := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"two sources", "", []string{"--logs=-", "--metrics=x"}, "cannot combine"},
		{"standard input twice", "", []string{"--logs=-", "--config=-"}, "give - only once"},
		{"output format", "", []string{"--logs=-", "-o", "yaml"}, "use text, json or installation"},
		{"no time", "", []string{"--since=0s"}, "must be more than 0"},
		{"missing file", "", []string{"--logs=/nonexistent"}, "give a file that exists"},
		{"not an audit log", "x\n", []string{"--audit-log=-"}, "--audit-log-path"},
		{"profile without components", "apiVersion: bulkhead.dev/v1alpha1\nkind: Installation\nprofile: in-tree\n",
			[]string{"--audit-log=/dev/null", "--config=-"}, "use profile hardened"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, _, err := runAudit(t, tc.stdin, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
