// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// byNode is a request of the node x.
func byNode(verb, resource string) *authorizer.AttributesRecord {
	return &authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "system:node:x"}, Verb: verb, Resource: resource,
		APIGroup: "g\n", Subresource: "s\n", Namespace: "a\n", Name: "b\n", ResourceRequest: true,
	}
}

func TestAFindingIsOneLine(t *testing.T) {
	var lines []string
	config := testConfig(asX)
	config.Logger = funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	h := New(config)
	a := byNode("get\n", "pods\n")
	a.User = &user.DefaultInfo{Name: "system:node:x\n"}
	h.audited(a, rules.Finding{Rule: "NA-TEST-1"})
	h.queue.Drain()
	want := []string{`"level"=0 "msg"="Allowed, but refused if the rule were enforced" "rule"="NA-TEST-1" "node"="x�" "user"="system:node:x�" "verb"="get�" "group"="g�" ` +
		`"resource"="pods�" "subresource"="s�" "namespace"="a�" "name"="b�"`}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFindingsAreCountedByBoundedLabels(t *testing.T) {
	config := testConfig(asX)
	h := New(config)
	h.audited(byNode("get", "pods"), rules.Finding{Rule: "NA-TEST-1"})
	h.audited(byNode("get", "pods"), rules.Finding{Rule: "NA-TEST-1"})
	for i := range 100 {
		h.audited(byNode(fmt.Sprint(i), fmt.Sprint(i)), rules.Finding{Rule: rules.ID(fmt.Sprint(i))})
	}
	want := `
# HELP bulkhead_audited_refusals_total [ALPHA] Requests allowed that a rule in audit would have refused, by rule, resource and verb.
# TYPE bulkhead_audited_refusals_total counter
bulkhead_audited_refusals_total{resource="other",rule="other",verb="other"} 100
bulkhead_audited_refusals_total{resource="pods",rule="NA-TEST-1",verb="get"} 2
`
	if err := testutil.GatherAndCompare(config.Registry, strings.NewReader(want),
		"bulkhead_audited_refusals_total"); err != nil {
		t.Error(err)
	}
}

// Many findings do not suppress the log lines of real denials, not even those of the same node.
func TestAFloodOfFindingsIsBounded(t *testing.T) {
	lines := map[string]int{}
	config := testConfig(asX)
	config.Logger = funcr.New(func(_, line string) { lines[strings.Split(line, `"`)[5]]++ }, funcr.Options{})
	h := New(config)
	byY := byNode("get", "pods")
	byY.User = &user.DefaultInfo{Name: "system:node:y"}
	for range 1000 {
		h.audited(byY, rules.Finding{Rule: "NA-TEST-1"})
		h.queue.Drain()
	}
	post(h, reviewBy("system:node:y"))
	h.queue.Drain()
	want := map[string]int{"Allowed, but refused if the rule were enforced": webhook.UserLineBurst, "Not allowed": 1}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if unlogged, err := testutil.GetCounterMetricValue(h.metrics.Unlogged); err != nil ||
		int(unlogged) != 1000-webhook.UserLineBurst {
		t.Errorf("%v unlogged (%v)", unlogged, err)
	}
}
