// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"strings"
	"testing"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
)

// TestTimeLimit: a spec that met a time limit says nothing about the rule. An allowance of what the rule denies
// does.
func TestTimeLimit(t *testing.T) {
	late := func(s Spec, answers ...Answer) Spec {
		s.Text += ", late"
		return answering(in(TimedOut, "A node timeout occurred", s), answers...)
	}
	const oneOfThree = "Time limit: 1 of 3 specs did not end in time."
	yes, no := Answer{Allowed: true, Code: 200}, Answer{Code: 403}
	for _, tc := range []struct {
		name   string
		specs  []Spec
		want   api.Result
		reason string
	}{
		{"only a time limit: not proved", []Spec{late(denies("NA-A-1"))}, api.NotProved,
			"Time limit: 1 of 1 spec did not end in time."},
		{"beside proof: not proved", []Spec{allows("NA-A-1"), denies("NA-A-1"), late(denies("NA-A-1"))},
			api.NotProved, oneOfThree},
		{"the request was denied before the limit: not proved",
			[]Spec{allows("NA-A-1"), denies("NA-A-1"), late(denies("NA-A-1"), no)}, api.NotProved, oneOfThree},
		{"an allowed request, not yet allowed: not proved",
			[]Spec{allows("NA-A-1"), denies("NA-A-1"), late(allows("NA-A-1"), no)}, api.NotProved, oneOfThree},
		{"with a skipped spec: not proved", []Spec{late(denies("NA-A-1")), in(Skipped, "no host", allows("NA-A-1"))},
			api.NotProved, "in time. 1 of 2 specs were skipped: no host"},
		{"allowed until the limit: not held", []Spec{allows("NA-A-1"), late(denies("NA-A-1"), yes)}, api.NotHeld,
			"The cluster allowed the request"},
		{"denied, then allowed until the limit: not held", []Spec{allows("NA-A-1"), late(denies("NA-A-1"), no, yes)},
			api.NotHeld, "1 of 2 specs failed."},
		{"beside a failure: not held", []Spec{late(allows("NA-A-1")), in(Failed, "got 200", denies("NA-A-1"))},
			api.NotHeld, "1 of 2 specs failed."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ruleOf(t, "NA-A-1", run("hardened", tc.specs...))
			if got.Result != tc.want || !strings.Contains(got.Reason, tc.reason) {
				t.Errorf("got %s, %q; want %s, %q", got.Result, got.Reason, tc.want, tc.reason)
			}
		})
	}
	first := ruleOf(t, "NA-A-1", run("hardened", allows("NA-A-1"), late(denies("NA-A-1")))).Evidence[0]
	if first.Outcome != api.TimedOut || first.Message != "A node timeout occurred" {
		t.Errorf("the first evidence is %+v", first)
	}
}
