// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestResultsOfSpecs(t *testing.T) {
	all := []rules.Rule{{ID: "NA-A-1"}, {ID: "NA-B-1", Extension: true, Optional: true}}
	s := &Suite{Name: "attacks", Rules: all}
	attacking := append(DeniesBeyond("NA-B-1", "NA-A-1"), Attack("T7")...)
	skipped := in(types.SpecStateSkipped, spec("needs a host", Allows("NA-A-1")...))
	skipped.Failure.Message = "no host"
	report := types.Report{StartTime: time.Unix(1, 0), RunTime: time.Minute, SpecReports: types.SpecReports{
		in(types.SpecStatePassed, spec("attacks", attacking...)), skipped,
		in(types.SpecStatePanicked, spec("panics", Denies("NA-A-1")...)),
		in(types.SpecStateSkipped, spec("was not selected", Allows("NA-A-1")...)),
	}}
	for _, tc := range []struct {
		profile Profile
		want    isolationreport.Effect
	}{{Hardened, isolationreport.Deny}, {InTree, isolationreport.Allow}} {
		t.Run(string(tc.profile), func(t *testing.T) {
			got := s.results(report, tc.profile)
			for i := range got.Specs {
				got.Specs[i].Container, got.Specs[i].Line = nil, 0
			}
			want := []isolationreport.Spec{
				{Text: "attacks", Rules: []rules.ID{"NA-B-1"}, Want: isolationreport.Deny, By: "NA-B-1", Off: "NA-A-1",
					Expected: tc.want, Attack: "T7", State: isolationreport.Passed},
				{Text: "needs a host", Rules: []rules.ID{"NA-A-1"}, Want: isolationreport.Allow, By: "NA-A-1",
					Expected: isolationreport.Allow, State: isolationreport.Skipped, Message: "no host"},
				{Text: "panics", Rules: []rules.ID{"NA-A-1"}, Want: isolationreport.Deny, By: "NA-A-1",
					Expected: isolationreport.Deny, State: isolationreport.Failed},
			}
			if diff := cmp.Diff(want, got.Specs); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got.Suite != "attacks" || got.Profile != string(tc.profile) || got.Duration != time.Minute {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestSpecsThatMeetATimeLimit(t *testing.T) {
	const (
		refusal      = "expected an allowed request\n403: no relationship found"
		waited       = "Timed out after 30.001s.\nExpected"
		late, failed = isolationreport.TimedOut, isolationreport.Failed
	)
	unanswered, allowed := isolationreport.Answer{}, isolationreport.Answer{Code: 200, Allowed: true}
	type answers = []isolationreport.Answer
	for _, tc := range []struct {
		name    string
		labels  ginkgo.Labels
		state   types.SpecState
		message string
		answers answers
		want    isolationreport.State
	}{
		{"limit of Ginkgo: timed out", Denies("NA-A-1"), types.SpecStateTimedout, "A node timeout occurred", nil, late},
		{"wait for an allowance: timed out", Allows("NA-A-1"), types.SpecStateFailed, waited, nil, late},
		{"wait for a denial: failed", Denies("NA-A-1"), types.SpecStateFailed, waited, nil, failed},
		{"wait for a denial, and the request is still allowed: failed", Denies("NA-A-1"), types.SpecStateFailed, waited,
			answers{allowed, allowed}, failed},
		{"wait for a denial, and no answer at the end: timed out", Denies("NA-A-1"), types.SpecStateFailed, waited,
			answers{allowed, unanswered}, late},
		{"text of the cluster: failed", Allows("NA-A-1"), types.SpecStateFailed, "expected 403\nTimed out after 1s.", nil,
			failed},
		{"limit of a request: timed out", Denies("NA-A-1"), types.SpecStateFailed, "Get: context deadline exceeded", nil,
			late},
		{"connection not made: timed out", Denies("NA-A-1"), types.SpecStateFailed, "dial tcp 10.0.0.1:6443: i/o timeout",
			nil, late},
		{"open connection: failed", Denies("NA-A-1"), types.SpecStateFailed, "read tcp 10.0.0.1:1->10.0.0.2:2: i/o timeout",
			nil, failed},
		{"wrong answer: failed", Denies("NA-A-1"), types.SpecStateFailed, refusal, nil, failed},
		{"not constant for a time: failed", Allows("NA-A-1"), types.SpecStateFailed, "Failed after 1.0s.\nExpected", nil,
			failed},
		{"panic: failed", Denies("NA-A-1"), types.SpecStatePanicked, "Test Panicked", nil, failed},
		{"no failure: passed", Denies("NA-A-1"), types.SpecStatePassed, "", nil, isolationreport.Passed},
	} {
		spec := in(tc.state, spec(tc.name, tc.labels...))
		spec.Failure.Message = tc.message
		for _, answer := range tc.answers {
			text, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			spec.ReportEntries = append(spec.ReportEntries, types.ReportEntry{Name: answerEntry,
				Value: types.WrapEntryValue(string(text))})
		}
		if got := specResult(spec, nil, Hardened).State; got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestObservedAnswers(t *testing.T) {
	request := Request{Verb: "get", Path: "/x"}
	asked := request
	asked.reviewOnly = true
	for _, tc := range []struct {
		name string
		got  isolationreport.Answer
		want isolationreport.Answer
	}{
		{"denied request", Answer{User: "u", Request: request, Code: 403, Message: "no [NA-A-1]"}.observed(),
			isolationreport.Answer{User: "u", Request: "get /x", Code: 403, Message: "no [NA-A-1]"}},
		{"allowed request, with the reason of the review",
			Answer{User: "u", Request: request, Code: 200, Allowed: true, Reason: "[NA-A-1]"}.observed(),
			isolationreport.Answer{User: "u", Request: "get /x", Code: 200, Allowed: true, Message: "[NA-A-1]"}},
		{"denied review", Answer{User: "u", Request: asked, Reason: "[NA-A-1]"}.observed(),
			isolationreport.Answer{User: "u", Request: "get /x", Message: "[NA-A-1]"}},
		{"a kubelet's answer to an allowed request is not recorded",
			Reply{Call: Calling(http.MethodGet, "/logs/"), Code: 200, Body: "log"}.observed(true),
			isolationreport.Answer{User: "an anonymous user", Request: "GET /logs/ at a kubelet", Code: 200, Allowed: true}},
		{"a denial of a kubelet's port", Reply{Caller: Caller{User: "u"}, Call: Calling(http.MethodGet, "/logs/"), Code: 403,
			Body: "Forbidden [KA-A-1]\n"}.observed(false),
			isolationreport.Answer{User: "u", Request: "GET /logs/ at a kubelet", Code: 403, Message: "Forbidden [KA-A-1]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAnswersOfSpecAreLimited(t *testing.T) {
	var spec types.SpecReport
	for range 3 * maxAnswers {
		spec.ReportEntries = append(spec.ReportEntries,
			types.ReportEntry{Name: answerEntry, Value: types.WrapEntryValue(`{"code":200,"allowed":true}`)})
	}
	spec.ReportEntries = append(spec.ReportEntries, types.ReportEntry{Name: "user", Value: types.WrapEntryValue("x")},
		types.ReportEntry{Name: answerEntry, Value: types.WrapEntryValue(`{"code":403}`)})
	if got := answers(spec); len(got) != maxAnswers || got[0].Code != 200 || got[maxAnswers-1].Code != 403 {
		t.Errorf("got %+v", got)
	}
}
