// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditfindings"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// findingOf allows every request of node x, with one finding of a rule. Of other users it denies
// every request.
func findingOf(rule rules.ID) AuthorizerFunc {
	return func(_ context.Context, a authorizer.Attributes) rules.Decision {
		if !strings.HasPrefix(a.GetUser().GetName(), "system:node:x") {
			return rules.Decision{Message: "no"}
		}
		return rules.Decision{Effect: rules.Allow, Findings: []rules.Finding{{Rule: rule}}}
	}
}

func TestAFindingIsOneLine(t *testing.T) {
	var lines []string
	config := testConfig(findingOf("NA-TEST-1"))
	config.Logger = funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	h := New(config)
	post(h, head+`{"user":"system:node:x\n","resourceAttributes":{"verb":"get\n","group":"g\n","resource":"pods\n",`+
		`"subresource":"s\n","namespace":"a\n","name":"b\n"}}}`)
	h.Queue.Drain()
	want := []string{`"level"=0 "msg"="NODE DENY, not enforced" "user"="system:node:x�" ` +
		`"verb"="get�" "group"="g�" "resource"="pods�" "subresource"="s�" "namespace"="a�" "name"="b�" "path"="" ` +
		`"rule"="NA-TEST-1" "node"="x�" "reason"=""`}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFindingsAreCountedByBoundedLabels(t *testing.T) {
	rule := rules.ID("NA-TEST-1")
	config := testConfig(func(ctx context.Context, a authorizer.Attributes) rules.Decision {
		return findingOf(rule)(ctx, a)
	})
	h := New(config)
	post(h, good)
	post(h, good)
	for i := range 100 {
		rule = rules.ID(fmt.Sprint(i))
		post(h, head+fmt.Sprintf(`{"user":"system:node:x","resourceAttributes":{"verb":"%d","resource":"%d"}}}`, i, i))
	}
	want := `
# HELP bulkhead_audited_refusals_total [ALPHA] Requests allowed that a rule in audit mode would have denied, ` +
		`by rule, resource and verb.
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
func TestManyFindingsDoNotSuppressDenials(t *testing.T) {
	lines := map[string]int{}
	denies := false
	config := testConfig(func(ctx context.Context, a authorizer.Attributes) rules.Decision {
		if denies {
			return rules.Decision{Message: "no"}
		}
		return findingOf("NA-TEST-1")(ctx, a)
	})
	config.Logger = funcr.New(func(_, line string) { lines[strings.Split(line, `"`)[5]]++ }, funcr.Options{})
	h := New(config)
	for range 1000 {
		post(h, good)
		h.Queue.Drain()
	}
	denies = true
	post(h, good)
	h.Queue.Drain()
	want := map[string]int{"NODE DENY, not enforced": webhook.UserLineBurst, "Not allowed": 1}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if unlogged, err := testutil.GetCounterMetricValue(h.Metrics.Unlogged); err != nil ||
		int(unlogged) != 1000-webhook.UserLineBurst {
		t.Errorf("%v unlogged (%v)", unlogged, err)
	}
}

// With AuditOnly, no denial reaches the API server: neither the policy's, nor the handler's own.
func TestAuditOnlyDeniesNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		d    func() rules.Decision
		body string
		want status
		rule string
	}{
		{"denied by a rule", func() rules.Decision { return rules.Decision{Rule: "NA-TEST-1", Message: "not yours"} },
			good, status{Reason: "not yours [NA-TEST-1]"}, "NA-TEST-1"},
		{"allowed", func() rules.Decision { return rules.Decision{Effect: rules.Allow, Rule: "NA-TEST-1"} },
			good, status{Allowed: true, Reason: "[NA-TEST-1]"}, ""},
		{"no opinion", func() rules.Decision { return rules.Decision{Effect: rules.NoOpinion, Rule: "NA-TEST-1"} },
			good, status{Reason: "[NA-TEST-1]"}, ""},
		{"denied by a rule that stays enforced", func() rules.Decision {
			return rules.Decision{Rule: "NA-REVOKE-1", Message: "revoked"}
		}, good, denied("revoked [NA-REVOKE-1]"), ""},
		{"panic", func() rules.Decision { panic("bug") }, good, status{Reason: "internal error"}, "none"},
		{"too many selector requirements", nil, selecting(maxRequirements + 1),
			status{Reason: "more than 1000 selector requirements [NA-LIMIT]"}, "NA-LIMIT"},
		{"too large", nil, head + strings.Repeat(" ", maxBody) + `{}}`,
			status{Reason: "a review of more than 65536 bytes [NA-LIMIT]"}, "NA-LIMIT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := testConfig(func(context.Context, authorizer.Attributes) rules.Decision { return tt.d() })
			config.AuditOnly = func(id rules.ID) bool { return id != "NA-REVOKE-1" }
			h := New(config)
			if diff := cmp.Diff(reply{200, tt.want}, replyTo(t, h, tt.body)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			families, err := config.Registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, family := range families {
				if family.GetName() == auditfindings.MetricName {
					got = family.GetMetric()[0].GetLabel()[0].GetValue()
				}
			}
			if got != tt.rule {
				t.Errorf("finding of %q, want %q", got, tt.rule)
			}
		})
	}
}
