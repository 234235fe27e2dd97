// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// ruleFile is a rule file of Prometheus, and the spec of a PrometheusRule.
type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			For         string            `json:"for,omitempty"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

// decodeFile decodes a file that FS does not have, because no program reads it.
func decodeFile(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestPrometheusRuleIsMadeFromTheRules checks the file that scripts/prometheusrule.sh makes.
func TestPrometheusRuleIsMadeFromTheRules(t *testing.T) {
	var rules ruleFile
	decodeFile(t, "monitoring/prometheus/rules.yaml", &rules)
	var object struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       ruleFile       `json:"spec"`
	}
	decodeFile(t, "monitoring/operator/prometheusrule.yaml", &object)
	if diff := cmp.Diff(rules, object.Spec); diff != "" || object.Kind != "PrometheusRule" {
		t.Errorf("run `make update` (-rules.yaml +PrometheusRule)\n%s", diff)
	}
}

// Each alert says how urgent it is, which host or rule it is about, and where its runbook is.
func TestEveryAlertHasARunbook(t *testing.T) {
	var rules ruleFile
	decodeFile(t, "monitoring/prometheus/rules.yaml", &rules)
	page, err := os.ReadFile("../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sections, _ := strings.Cut(string(page), "\n## ")
	runbooks := map[string]string{}
	for _, section := range strings.Split(sections, "\n## ") {
		name, text, _ := strings.Cut(section, "\n")
		runbooks[name] = text
	}
	about := regexp.MustCompile(`\$labels\.(node|instance|pod|job|rule)\b`)
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			text, found := runbooks[rule.Alert]
			delete(runbooks, rule.Alert)
			for _, part := range []string{"**Meaning**", "**Impact**", "**Diagnose**", "  $ ", "**Repair**", "**Resolves**"} {
				if !strings.Contains(text, part) {
					t.Errorf("%s: its runbook (found: %v) has no %s", rule.Alert, found, part)
				}
			}
			summary, description := rule.Annotations["summary"], rule.Annotations["description"]
			if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) || summary == "" ||
				description == "" || !about.MatchString(summary+description) && !strings.HasPrefix(rule.Expr, "absent(") ||
				rule.Annotations["runbook_url"] != "https://github.com/bulkhead-k8s/bulkhead/blob/main/docs/runbooks.md#"+
					strings.ToLower(rule.Alert) {
				t.Errorf("%s: %v %v", rule.Alert, rule.Labels, rule.Annotations)
			}
		}
	}
	for name := range runbooks {
		t.Errorf("the runbook %q has no alert", name)
	}
}

// The account of Prometheus reads metrics. It has no right that includes exec, logs or pods.
func TestMetricsReaderMayOnlyReadMetrics(t *testing.T) {
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"nodes/metrics"}, Verbs: []string{"get"}},
	}
	role := decode[*rbacv1.ClusterRole](t, "monitoring/clusterrole.yaml")
	if diff := cmp.Diff(want, role.Rules); diff != "" {
		t.Errorf("rights (-want +got)\n%s", diff)
	}
}
