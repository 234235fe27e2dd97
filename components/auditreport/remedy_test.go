// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// remediesOfAll are all tables of texts by rule.
var remediesOfAll = []map[rules.ID]string{alternatives, nodeRemedies, otherNodeRemedies, writeRemedies,
	otherWriteRemedies, kubeletRemedies, scopeRemedies, unknownScopeRemedies, anyScopeRemedies, otherScopeRemedies}

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
				// A nodePolicy replaces the whole policy, so no text has one with a single field.
				if strings.Contains(part, "nodePolicy:") {
					t.Errorf("%s: %s", id, part)
				}
				file := "apiVersion: " + installation.APIVersion + "\nkind: " + installation.Kind + "\n" + part + "\n"
				if _, err := installation.Parse([]byte(file)); err != nil {
					t.Errorf("%s: %v\n%s", id, err, file)
				}
			}
		}
	}
	if settings < 3 {
		t.Errorf("only %d settings", settings)
	}
}

// TestFieldsOfThePolicy: each field that an alternative names exists, and a change of it allows more than
// the hardened policy, without a change of another field.
func TestFieldsOfThePolicy(t *testing.T) {
	const names = `[{"group": "system:bootstrappers:workers", "names": ["worker-1"%s]}]`
	for id, row := range map[rules.ID]struct {
		field, hardened, looser string
		limit                   func(*configuration.Configuration) *int
	}{
		"NR-POD-10": {"caps.mirrorPods", "100", "101",
			func(c *configuration.Configuration) *int { return &c.Caps.MirrorPods }},
		"NR-SLICE-3": {"caps.resourceSlices", "1000", "1001",
			func(c *configuration.Configuration) *int { return &c.Caps.ResourceSlices }},
		"NR-PCR-6": {"caps.podCertificateRequests", "1000", "1001",
			func(c *configuration.Configuration) *int { return &c.Caps.PodCertificateRequests }},
		"NR-CSR-5": {"caps.certificateSigningRequests", "100", "101",
			func(c *configuration.Configuration) *int { return &c.Caps.CertificateSigningRequests }},
		"NR-SA-6":   {"maxTokenSeconds", "86400", "86401", nil},
		"NR-BOOT-4": {"bootstrapNodeNames", fmt.Sprintf(names, ""), fmt.Sprintf(names, `, "worker-2"`), nil},
	} {
		t.Run(string(id), func(t *testing.T) {
			if text := alternatives[id]; !strings.Contains(text, row.field+" of the node policy") ||
				strings.Contains(text, "to more than") && !strings.Contains(text, "to more than "+row.hardened) {
				t.Errorf("want %s and %s in %q", row.field, row.hardened, text)
			}
			before, after := policyWith(t, row.field, row.hardened), policyWith(t, row.field, row.looser)
			if id != "NR-BOOT-4" && !cmp.Equal(before, parsePolicy(t, hardenedPolicy(t)), unexported, noFuncs) {
				t.Errorf("hardened does not have %s: %s", row.field, row.hardened)
			}
			if cmp.Equal(before, after, unexported, noFuncs) {
				t.Errorf("%s has no effect", row.field)
			}
			switch {
			case row.limit != nil:
				if *row.limit(after) <= *row.limit(before) {
					t.Errorf("%d is not more than %d", *row.limit(after), *row.limit(before))
				}
				*row.limit(after) = *row.limit(before)
			case id == "NR-SA-6":
				if after.MaxTokenSeconds <= before.MaxTokenSeconds {
					t.Errorf("%d is not more than %d", after.MaxTokenSeconds, before.MaxTokenSeconds)
				}
				after.MaxTokenSeconds = before.MaxTokenSeconds
			default:
				if !before.BootstrapNames[0].Names.Has("worker-1") || !after.BootstrapNames[0].Names.Has("worker-1") ||
					!after.BootstrapNames[0].Names.Has("worker-2") {
					t.Error("the names are not those of the rows")
				}
				after.BootstrapNames = before.BootstrapNames
			}
			if diff := cmp.Diff(before, after, unexported, noFuncs); diff != "" {
				t.Errorf("another field has changed (-before +after)\n%s", diff)
			}
		})
	}
}

// unexported and noFuncs compare the keys of a policy. Two functions are never equal.
var (
	unexported = cmp.Exporter(func(reflect.Type) bool { return true })
	noFuncs    = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type().Kind() == reflect.Func }, cmp.Ignore())
)

// policyWith returns the hardened policy with one other value.
func policyWith(t *testing.T, field, value string) *configuration.Configuration {
	t.Helper()
	var policy map[string]any
	if err := yaml.Unmarshal(hardenedPolicy(t), &policy); err != nil {
		t.Fatal(err)
	}
	at, names := policy, strings.Split(field, ".")
	for _, name := range names[:len(names)-1] {
		at = at[name].(map[string]any)
	}
	var parsed any
	if err := yaml.Unmarshal([]byte(value), &parsed); err != nil {
		t.Fatal(err)
	}
	at[names[len(names)-1]] = parsed
	text, err := yaml.Marshal(policy)
	if err != nil {
		t.Fatal(err)
	}
	return parsePolicy(t, text)
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
