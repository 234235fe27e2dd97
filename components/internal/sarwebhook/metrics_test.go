// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestMetrics(t *testing.T) { synctest.Test(t, testMetrics) }

func testMetrics(t *testing.T) {
	config := testConfig(asX)
	h := New(config)
	post(h, good)
	post(h, reviewBy("system:node:y"))
	post(h, strings.Repeat(" ", maxBody+1))
	for i := range 100 {
		post(h, head+fmt.Sprintf(`{"user":"admin","resourceAttributes":{"verb":"verb%d","resource":"resource%d"}}}`, i, i))
	}
	post(h, selecting(1001))
	for range config.Limits.InFlightPerNode {
		h.Limiter.AdmitNode(t.Context(), "z")
	}
	post(h, reviewBy("system:node:z"))
	want := `
# HELP bulkhead_authorization_decisions_total [ALPHA] Requests decided, ` +
		`by resource, verb, rule and decision (allow, deny, no-opinion).
# TYPE bulkhead_authorization_decisions_total counter
bulkhead_authorization_decisions_total{decision="allow",resource="pods",rule="NA-TEST-1",verb="get"} 1
bulkhead_authorization_decisions_total{decision="deny",resource="other",rule="NA-LIMIT",verb="other"} 1
bulkhead_authorization_decisions_total{decision="deny",resource="pods",rule="NA-LIMIT",verb="get"} 1
bulkhead_authorization_decisions_total{decision="deny",resource="pods",rule="NA-LIMIT",verb="list"} 1
bulkhead_authorization_decisions_total{decision="no-opinion",resource="other",rule="NA-TEST-1",verb="other"} 100
bulkhead_authorization_decisions_total{decision="no-opinion",resource="pods",rule="NA-TEST-1",verb="get"} 1
# HELP bulkhead_limited_requests_total [ALPHA] Requests denied because of a bound, by bound.
# TYPE bulkhead_limited_requests_total counter
bulkhead_limited_requests_total{reason="node-in-flight"} 1
bulkhead_limited_requests_total{reason="review-size"} 2
# HELP bulkhead_requests_in_flight [ALPHA] Requests being decided now.
# TYPE bulkhead_requests_in_flight gauge
bulkhead_requests_in_flight 0
`
	if err := testutil.GatherAndCompare(config.Registry, strings.NewReader(want),
		"bulkhead_authorization_decisions_total", "bulkhead_limited_requests_total",
		"bulkhead_requests_in_flight"); err != nil {
		t.Error(err)
	}
}

func TestUnknownRulesHaveTheLabelOther(t *testing.T) {
	h := New(testConfig(asX))
	for id, want := range map[rules.ID]string{"NA-TEST-1": "NA-TEST-1", "made up": "other", "": "none"} {
		if got := h.Metrics.RuleLabel(id); got != want {
			t.Errorf("rule %q has the label %q, want %q", id, got, want)
		}
	}
}

// A decision counts the findings of rules in audit mode.
func TestFindingsOfADecisionAreCounted(t *testing.T) {
	config := testConfig(func(context.Context, authorizer.Attributes) rules.Decision {
		return rules.Decision{Effect: rules.Allow, Findings: []rules.Finding{{Rule: "NA-TEST-1"}, {Rule: "NA-LIMIT"}}}
	})
	post(New(config), good)
	want := `
# HELP bulkhead_audited_refusals_total [ALPHA] Requests allowed that a rule in audit mode would have denied, ` +
		`by rule, resource and verb.
# TYPE bulkhead_audited_refusals_total counter
bulkhead_audited_refusals_total{resource="pods",rule="NA-LIMIT",verb="get"} 1
bulkhead_audited_refusals_total{resource="pods",rule="NA-TEST-1",verb="get"} 1
`
	if err := testutil.GatherAndCompare(config.Registry, strings.NewReader(want),
		"bulkhead_audited_refusals_total"); err != nil {
		t.Error(err)
	}
}

func TestPanicsAreCounted(t *testing.T) {
	h := New(testConfig(func(context.Context, authorizer.Attributes) rules.Decision { panic("oh") }))
	post(h, good)
	if n, err := testutil.GetCounterMetricValue(h.Metrics.Panics); err != nil || n != 1 {
		t.Errorf("%v panics counted (%v), want 1", n, err)
	}
}
