// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestRuleTable(t *testing.T) {
	all := []rules.Rule{{ID: "NA-A-1", Description: "Keeps A."}, {ID: "NA-B-1", Description: "Keeps B."},
		{ID: "NA-C-1", Description: "Keeps C."}}
	skipped := in(types.SpecStateSkipped, spec("is not here", Allows("NA-B-1")...))
	skipped.Failure.Message = "no host"
	failed := in(types.SpecStateFailed, spec("goes wrong", Denies("NA-B-1")...))
	failed.Failure.Message = "expected 403\nand got 200"
	measured := in(types.SpecStatePassed, spec("is fast", Allows("NA-A-1")...))
	measured.ReportEntries = types.ReportEntries{
		{Name: TimeToAllow, Value: types.WrapEntryValue("12ms")},
		{Name: measurementEntry + "flood", Value: types.WrapEntryValue("9 requests")},
	}
	report := types.Report{
		SuiteDescription: "nodeauthorizer", StartTime: time.Unix(0, 0), RunTime: 3 * time.Second,
		SpecReports: types.SpecReports{
			measured, in(types.SpecStatePassed, spec("is refused", Denies("NA-A-1")...)), skipped, failed,
			in(types.SpecStateSkipped, spec("was not asked for", Allows("NA-C-1")...)),
		},
	}
	const want = `# nodeauthorizer on profile parity

1970-01-01T00:00:00Z, in 3s. 2 passed, 1 failed, 1 skipped

| rule | description | allow | deny |
|---|---|---|---|
| NA-A-1 | Keeps A. | ✓ 1 | ✓ 1 |
| NA-B-1 | Keeps B. | skipped: no host | ✗ 1 of 1 |
| NA-C-1 | Keeps C. | not run | not run |

## Failed

- goes wrong: expected 403

## Skipped

- is not here: no host

## Measured

- time to allow: p50 12ms, p99 12ms, longest 12ms, of 1
- flood: 9 requests
`
	if diff := cmp.Diff(want, RuleTable(report, all, Parity)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestRuleTableWhileOff(t *testing.T) {
	all := []rules.Rule{
		{ID: "NA-A-1", Description: "Keeps A."}, {ID: "NA-B-1", Description: "Keeps B.", Extension: true, Optional: true},
		{ID: "NA-C-1", Description: "Is another suite's."},
	}
	report := types.Report{SpecReports: types.SpecReports{
		in(types.SpecStatePassed, spec("depends", DeniesBeyond("NA-B-1", "NA-A-1")...)),
		in(types.SpecStatePassed, spec("is the permitted request", AllowsBy("NA-B-1", "NA-A-1")...)),
	}}
	for _, tc := range []struct {
		profile Profile
		want    []string
	}{
		{Hardened, []string{"| NA-A-1 | Keeps A. | refused by NA-B-1 | not run |", "| NA-B-1 | Keeps B. | ✓ 1 | ✓ 1 |"}},
		{Parity, []string{"| NA-A-1 | Keeps A. | ✓ 1 | not run |", "| NA-B-1 | Keeps B. | ✓ 1 | off: allowed 1 |"}},
	} {
		t.Run(string(tc.profile), func(t *testing.T) {
			var got []string
			for line := range strings.Lines(RuleTable(report, all, tc.profile)) {
				if strings.HasPrefix(line, "| NA-") {
					got = append(got, strings.TrimSpace(line))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func in(state types.SpecState, spec types.SpecReport) types.SpecReport {
	spec.State = state
	return spec
}

func TestSum(t *testing.T) {
	const text = `# HELP calls_total Calls.
calls_total{name="a",result="ok"} 2
calls_total{name="a",result="no"} 1e3
calls_total{name="b"} 7
calls_totally{name="a"} 40
plain 5
`
	for _, tc := range []struct {
		name, metric, labels string
		want                 float64
	}{
		{"samples with the label add up", "calls_total", `name="a"`, 1002},
		{"without a label all do", "calls_total", "", 1009},
		{"a metric without labels is one sample", "plain", "", 5},
		{"no sample is zero", "missing", "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, err := sum(text, tc.metric, tc.labels); err != nil || got != tc.want {
				t.Errorf("got %v, %v; want %v", got, err, tc.want)
			}
		})
	}
}
