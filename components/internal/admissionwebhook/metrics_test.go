// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestMetrics(t *testing.T) { synctest.Test(t, testMetrics) }

func testMetrics(t *testing.T) {
	r := allowing()
	config := testConfig(r)
	h := New(config)
	post(h, reviewOf(nil))
	post(h, reviewOf(func(f *fields) { f.user = asAdmin }))
	post(h, reviewOf(func(f *fields) { f.operation = `"PATCH"` }))
	r.answer = refusing().answer
	post(h, reviewOf(nil))
	r.answer.Rule = "NR-UNHEARD-OF"
	post(h, reviewOf(func(f *fields) { f.subresource = `"status"` }))
	r.answer = rules.Decision{Effect: rules.Allow, Findings: []rules.Finding{{Rule: "NR-TEST-1"}, {Rule: "NR-UNHEARD-OF"}}}
	for i := range 100 {
		post(h, reviewOf(func(f *fields) {
			f.resource = fmt.Sprintf(`{"group":"g","version":"v1","resource":"r%d"}`, i)
			f.subresource = fmt.Sprintf(`"s%d"`, i)
		}))
	}
	post(h, strings.Repeat(" ", maxBody+1))
	post(h, reviewOf(func(f *fields) { f.object = `"` + strings.Repeat("a", maxBody) }))
	for range config.Limits.InFlightPerNode {
		h.Limiter.AdmitNode(t.Context(), "z")
	}
	post(h, reviewOf(func(f *fields) { f.user = `{"username":"system:node:z"}` }))
	want := `
# HELP bulkhead_admission_reviews_total [ALPHA] Writes reviewed, by resource, subresource, ` +
		`operation, rule and decision (allow, deny).
# TYPE bulkhead_admission_reviews_total counter
bulkhead_admission_reviews_total{decision="allow",operation="CREATE",` +
		`resource="other",rule="none",subresource="other"} 100
bulkhead_admission_reviews_total{decision="allow",operation="CREATE",resource="pods",rule="none",subresource=""} 2
bulkhead_admission_reviews_total{decision="deny",operation="CREATE",resource="pods",rule="NR-LIMIT",subresource=""} 1
bulkhead_admission_reviews_total{decision="deny",operation="CREATE",resource="pods",rule="NR-TEST-1",subresource=""} 1
bulkhead_admission_reviews_total{decision="deny",operation="CREATE",resource="pods",rule="other",subresource="status"} 1
bulkhead_admission_reviews_total{decision="deny",operation="other",` +
		`resource="other",rule="NR-LIMIT",subresource="other"} 1
bulkhead_admission_reviews_total{decision="deny",operation="other",resource="pods",rule="none",subresource=""} 1
# HELP bulkhead_audited_refusals_total [ALPHA] Requests allowed that a rule in audit mode would have denied, ` +
		`by rule, resource and verb.
# TYPE bulkhead_audited_refusals_total counter
bulkhead_audited_refusals_total{resource="other",rule="NR-TEST-1",verb="create"} 100
bulkhead_audited_refusals_total{resource="other",rule="other",verb="create"} 100
# HELP bulkhead_limited_requests_total [ALPHA] Requests denied because of a bound, by bound.
# TYPE bulkhead_limited_requests_total counter
bulkhead_limited_requests_total{reason="node-in-flight"} 1
bulkhead_limited_requests_total{reason="review-size"} 1
# HELP bulkhead_requests_in_flight [ALPHA] Requests being decided now.
# TYPE bulkhead_requests_in_flight gauge
bulkhead_requests_in_flight 0
`
	if err := testutil.GatherAndCompare(config.Registry, strings.NewReader(want), "bulkhead_admission_reviews_total",
		"bulkhead_audited_refusals_total", "bulkhead_limited_requests_total", "bulkhead_requests_in_flight"); err != nil {
		t.Error(err)
	}
}

func TestPanicsAreCounted(t *testing.T) {
	h := New(testConfig(ReviewerFunc(func(context.Context, admission.Attributes) rules.Decision { panic("oh") })))
	post(h, reviewOf(nil))
	if n, err := testutil.GetCounterMetricValue(h.Metrics.Panics); err != nil || n != 1 {
		t.Errorf("%v panics counted (%v), want 1", n, err)
	}
}
