// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// maxEvidence limits the specs of one rule in a report. Failures come first.
const maxEvidence = 100

// outcome returns what a spec saw on the cluster.
//
// A spec that passed saw what it expected on this cluster. If its recorded answers contradict that,
// it proves nothing. A spec that failed because the cluster allowed what it expects to be denied saw
// an allowance. A spec that met a time limit proves nothing, except if the last answer is an allowance
// of what it expects to be denied.
func (r ran) outcome() api.Outcome {
	switch {
	case r.State == TimedOut && !r.lastAllowed():
		return api.TimedOut
	case r.failed() && r.Expected == Deny && len(r.Answers) > 0 && !slices.ContainsFunc(r.Answers, isDenial):
		return api.Allowed
	case r.failed():
		return api.Failed
	case r.State == Skipped:
		return api.Skipped
	case r.Expected == Allow:
		return api.Allowed
	case len(r.Answers) > 0 && !slices.ContainsFunc(r.Answers, isDenial):
		return api.Unconfirmed
	}
	return api.Denied
}

func isDenial(a Answer) bool { return !a.Allowed }

func (r ran) failed() bool { return r.State == Failed || r.State == TimedOut }

// lastAllowed is true if the spec expects a denial, and the cluster allowed the last request.
func (r ran) lastAllowed() bool {
	return r.Expected == Deny && len(r.Answers) > 0 && r.Answers[len(r.Answers)-1].Allowed
}

// seen counts the outcomes of the specs of one rule.
type seen struct {
	specs, denied, allowed, failed, skipped, unconfirmed, timedOut int
	// passedAgainst counts requests that the rule denies and the cluster allowed.
	passedAgainst int
	// reasons are those of the skipped specs.
	reasons []string
}

func look(id rules.ID, specs []ran) (s seen) {
	s.specs = len(specs)
	for _, spec := range specs {
		switch outcome := spec.outcome(); {
		case outcome == api.Failed:
			s.failed++
		case outcome == api.TimedOut:
			s.timedOut++
		case outcome == api.Skipped:
			s.skipped++
			if reason := clean(spec.Message, maxAnswer); reason != "" && !slices.Contains(s.reasons, reason) {
				s.reasons = append(s.reasons, reason)
			}
		case outcome == api.Unconfirmed:
			s.unconfirmed++
		case outcome == api.Denied:
			s.denied++
		case spec.Want == Deny && slices.Contains(spec.Rules, id):
			s.passedAgainst++
		default:
			s.allowed++
		}
	}
	return s
}

func ruleResult(group string, rule rules.Rule, profile string, specs []ran) api.Rule {
	result := api.Rule{
		ID: string(rule.ID), Profile: group, Description: rule.Description, Source: rule.Source, Extension: rule.Extension,
	}
	result.Result, result.Reason = judge(rule, profile, look(rule.ID, specs))
	result.Evidence = evidence(specs)
	if len(result.Evidence) > maxEvidence {
		result.MoreEvidence = len(result.Evidence) - maxEvidence
		result.Evidence = result.Evidence[:maxEvidence]
	}
	return result
}

// judge returns the result of a rule and, if the rule is not held, the reason.
func judge(rule rules.Rule, profile string, s seen) (api.Result, string) {
	switch {
	case s.failed > 0:
		return api.NotHeld, fmt.Sprintf("%d of %d %s failed.", s.failed, s.specs, plural(s.specs, "spec", "specs"))
	case s.passedAgainst > 0 && s.denied > 0:
		return api.NotHeld, fmt.Sprintf("The cluster allowed %d of %d kinds of requests that the rule denies.",
			s.passedAgainst, s.passedAgainst+s.denied)
	case s.passedAgainst > 0:
		return api.NotHeld, "The cluster allowed " + plural(s.passedAgainst, "the request",
			fmt.Sprintf("all %d kinds of requests", s.passedAgainst)) + " that the rule denies: it is not in force here."
	case s.specs == 0 && rule.Extension && profile == inTree:
		return api.NotApplicable, "Kubernetes does not have this rule, and no spec tried it on in-tree."
	case s.specs == 0:
		return api.NotProved, "No spec of the rule is in the results."
	case s.skipped == s.specs:
		slices.Sort(s.reasons)
		return api.NotApplicable, clean("Skipped: "+strings.Join(s.reasons, "; "), maxMessage)
	case s.timedOut > 0:
		return api.NotProved, fmt.Sprintf("Time limit: %d of %d %s did not end in time.", s.timedOut, s.specs,
			plural(s.specs, "spec", "specs")) + alsoSkipped(s)
	case s.denied > 0 && s.allowed > 0:
		return api.Held, ""
	case s.denied > 0:
		return api.NotProved, "Requests were denied, but no spec showed an allowed request." + alsoSkipped(s)
	case s.unconfirmed > 0:
		return api.NotProved, "A spec that expects a denial recorded only allowed requests." + alsoSkipped(s)
	}
	return api.NotProved, "Requests were allowed, but no spec showed a denied request." + alsoSkipped(s)
}

func alsoSkipped(s seen) string {
	if s.skipped == 0 {
		return ""
	}
	slices.Sort(s.reasons)
	return " " + clean(fmt.Sprintf("%d of %d specs were skipped: %s", s.skipped, s.specs, strings.Join(s.reasons, "; ")),
		maxMessage)
}

// evidence describes specs: failures first, then time limits, then what contradicts the rule, then denials.
func evidence(specs []ran) []api.Evidence {
	list := make([]api.Evidence, 0, len(specs))
	order := []api.Outcome{api.Failed, api.TimedOut, api.Unconfirmed, api.Denied, api.Allowed, api.Skipped}
	for _, spec := range specs {
		list = append(list, spec.evidence(spec.name()))
	}
	slices.SortStableFunc(list, func(a, b api.Evidence) int {
		return slices.Index(order, a.Outcome) - slices.Index(order, b.Outcome)
	})
	return list
}

func (r ran) evidence(name string) api.Evidence {
	e := api.Evidence{
		Suite: clean(r.suite, maxName), Spec: clean(name, maxName), Expected: clean(r.expectation(), maxName),
		Outcome: r.outcome(), Duration: metav1.Duration{Duration: r.Duration.Round(time.Millisecond)},
	}
	if r.State != Passed {
		e.Message = clean(r.Message, maxMessage)
	}
	if answer, ok := r.answer(); ok {
		e.Request = clean(answer.Request+" as "+answer.User, maxName)
		e.Happened = clean(answer.String(), maxAnswer)
	}
	return e
}

// expectation says in words what the spec expects on this cluster.
func (r ran) expectation() string {
	by := string(r.By)
	switch {
	case r.Expected == Deny && slices.Contains(r.Rules, r.By):
		return "denied by " + by
	case r.Expected == Deny:
		return "denied, and the answer names " + by
	case r.Want == Deny && r.Off != "":
		// By can be another rule, whose name the answer would have.
		if len(r.Rules) > 0 {
			by = string(r.Rules[0])
		}
		return fmt.Sprintf("allowed by %s, because %s is not in force", r.Off, by)
	case r.By == Behind:
		return "allowed by RBAC or another authorizer"
	case by == "":
		return string(r.Expected)
	}
	return "allowed by " + by
}

// answer returns the answer that shows the outcome: the last denial that names the expected rule, or the last
// denial, or the last answer. In a chain of steps, other rules deny the later steps.
func (r ran) answer() (Answer, bool) {
	for _, a := range slices.Backward(r.Answers) {
		if r.Expected == Deny && isDenial(a) && strings.Contains(a.Message, "["+string(r.By)+"]") {
			return a, true
		}
	}
	for _, a := range slices.Backward(r.Answers) {
		if r.Expected == Deny != a.Allowed {
			return a, true
		}
	}
	if len(r.Answers) == 0 {
		return Answer{}, false
	}
	return r.Answers[len(r.Answers)-1], true
}

func (a Answer) String() string {
	text := "denied"
	if a.Allowed {
		text = "allowed"
	}
	if a.Code != 0 {
		text += fmt.Sprintf(" with status %d", a.Code)
	}
	if a.Message != "" {
		text += ": " + a.Message
	}
	return text
}
