// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// remediesOfAll are all tables of texts by rule.
var remediesOfAll = []map[rules.ID]string{alternatives, nodeRemedies, otherNodeRemedies, writeRemedies,
	otherWriteRemedies, kubeletRemedies, scopeRemedies, anyScopeRemedies, otherScopeRemedies}

// A user copies a setting from an answer into the Installation.
func TestSettingsOfRemediesAreValid(t *testing.T) {
	settings := 0
	for _, texts := range remediesOfAll {
		for id, text := range texts {
			if rule, known := rules.Find(allRules, id); !known || rule.Optional == (texts[id] != alternatives[id]) {
				t.Errorf("%s: a rule %v, optional %v", id, known, rule.Optional)
			}
			for i, part := range strings.Split(text, "`") {
				if i%2 == 0 || !strings.Contains(part, "{") {
					continue
				}
				settings++
				// The setting is one field of a policy.
				const policy = "nodePolicy: {apiVersion: noderestriction.admission.k8s.io/v1, kind: Configuration, "
				part = strings.Replace(part, "nodePolicy: {", policy, 1)
				file := "apiVersion: " + installation.APIVersion + "\nkind: " + installation.Kind + "\n" + part + "\n"
				if _, err := installation.Parse([]byte(file)); err != nil {
					t.Errorf("%s: %v\n%s", id, err, file)
				}
			}
		}
	}
	if settings < 10 {
		t.Errorf("only %d settings", settings)
	}
}

// TestRemedyFitsTheUser: a pod with a node scope does not use the credentials of the kubelet.
func TestRemedyFitsTheUser(t *testing.T) {
	const account = "system:serviceaccount:monitoring:agent"
	for _, row := range []struct {
		name, user, reason string
		rule               rules.ID
		want, not          string
	}{
		{"node", "system:node:a", "no [NA-SECRET-1]", "NA-SECRET-1", "give the right to the workload's own", ""},
		{"account, rule of nodes", account, "no [NA-SECRET-1] [NS-SCOPE-1]", "NA-SECRET-1", "must use the secret",
			"workload's own"},
		{"unknown user, rule of nodes", "", "no [NR-SA-1] [NS-ADMIT-1]", "NR-SA-1", "Set spec.boundObjectRef",
			"If the client is not the kubelet"},
		{"account", account, "no [NS-SCOPE-1]", "NS-SCOPE-1", "`bulkhead scope suggest monitoring/agent --audit-log=FILE`",
			""},
		{"account, scope of any size", account, "no [NS-GRANT-1]", "NS-GRANT-1", "ServiceAccount monitoring/agent",
			"suggest"},
		{"node, annotation of node scope", "system:node:a", "no [NS-WRITE-4]", "NS-WRITE-4", "file of the static pod",
			"ServiceAccount NAMESPACE"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := SettingOf(Finding{Rule: row.rule, User: row.user, Reason: row.reason}).Remedy
			if !strings.Contains(got, row.want) || row.not != "" && strings.Contains(got, row.not) {
				t.Errorf("want %q, not %q, in\n%s", row.want, row.not, got)
			}
		})
	}
}
