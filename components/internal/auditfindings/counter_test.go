// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditfindings

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

func TestFindingsAreCountedByRuleAndUser(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	c := NewCounter(registry, map[string]string{"entry": "x"})
	c.Count("NA-1", "system:node:a")
	c.Count("NA-1", "system:node:a")
	c.Count("NA-2", "system:node:a")
	const want = `# HELP bulkhead_audit_findings_total [ALPHA] Requests that a rule in audit mode would have denied, ` +
		`by rule and user. After 2000 pairs of rule and user, new users are counted as other.
# TYPE bulkhead_audit_findings_total counter
bulkhead_audit_findings_total{entry="x",rule="NA-1",user="system:node:a"} 2
bulkhead_audit_findings_total{entry="x",rule="NA-2",user="system:node:a"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), MetricName); err != nil {
		t.Error(err)
	}
}

func TestInventedUsersShareOneCounter(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	c := NewCounter(registry, nil)
	c.Count("NA-1", "early")
	for i := range 3 * maxPairs {
		c.Count("NA-1", fmt.Sprint("invented-", i))
	}
	c.Count("NA-1", "early")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := families[0].GetMetric()
	if len(series) != maxPairs+1 {
		t.Errorf("%d series, want %d", len(series), maxPairs+1)
	}
	counts := map[string]float64{}
	for _, m := range series {
		counts[m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
	}
	if counts["early"] != 2 || counts[OtherUsers] != 2*maxPairs+1 {
		t.Errorf("early %v, other %v; want 2 and %d", counts["early"], counts[OtherUsers], 2*maxPairs+1)
	}
}
