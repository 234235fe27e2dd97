// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
)

func TestCompare(t *testing.T) {
	build := func(specs ...Spec) *api.NodeIsolationReport {
		report, err := Build(table, []Results{run("hardened", specs...)})
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	proved := []Spec{allows("NA-A-1"), denies("NA-A-1")}
	first := build(append(proved, whileOff("NA-X-1", "NA-A-1"))...)
	second := build(append(proved, allows("NA-X-1"), denies("NA-X-1"))...)
	for _, tc := range []struct {
		name          string
		first, second *api.NodeIsolationReport
		want          []Change
	}{
		{"more holds", first, second, []Change{Same, Gained}},
		{"less holds", second, first, []Change{Same, Lost}},
		{"one rule is missing", &api.NodeIsolationReport{Rules: first.Rules[:1]}, first, []Change{Same, Other}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := Compare(tc.first, tc.second)
			var got []Change
			for _, rule := range c.Rules {
				got = append(got, rule.Change)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(c.Verdict, "rules hold on") {
				t.Errorf("verdict %q", c.Verdict)
			}
		})
	}
}
