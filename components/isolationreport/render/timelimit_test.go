// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
)

// TestTimeLimit: a rule whose spec met a time limit is an error in JUnit, not a failure, with the spec's message.
func TestTimeLimit(t *testing.T) {
	rule := api.Rule{ID: "NA-A-1", Result: api.NotProved, Reason: "Time limit: 1 of 1 spec did not end in time.",
		Evidence: []api.Evidence{{Suite: "s", Spec: "is slow", Outcome: api.TimedOut, Message: "A node timeout occurred"}}}
	c := junitCaseOf(rule)
	if c.Failure != nil || c.Error == nil || c.Error.Message != rule.Reason ||
		!strings.Contains(c.Error.Text, "is slow\nA node timeout occurred") {
		t.Errorf("JUnit: failure %+v, error %+v", c.Failure, c.Error)
	}
	if got := summary(rule); got != "Evidence: 1 time limit" {
		t.Errorf("summary %q", got)
	}
}
