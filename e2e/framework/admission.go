// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Refusal describes how a write must be rejected.
type Refusal struct {
	By rules.ID
	// Code is the HTTP status. 0 means 403.
	Code int
	// Text must be part of the message. It is upstream's text, or a part of Bulkhead's text.
	Text string
}

func (r Refusal) code() int {
	if r.Code == 0 {
		return http.StatusForbidden
	}
	return r.Code
}

// RefusedWrite matches an answer that rejects a write in this way.
//
// On parity, where only Bulkhead's admission decides, the message must name the rule. On hardened
// the same holds for rules that upstream does not have. The in-tree plugin runs before Bulkhead's
// webhook there, and rejects the shared rules with its own text and without an ID. `bulkhead why`
// must then find the rule from that text. On any, only the status counts.
func RefusedWrite(profile Profile, rule rules.Rule, r Refusal) types.GomegaMatcher {
	return &outcome{
		wanted: fmt.Sprintf("be refused at admission by %s with %d", r.By, r.code()),
		judge: func(a Answer) error {
			named := strings.Contains(a.Message, "["+string(r.By)+"]")
			switch {
			case a.Code != r.code():
				return fmt.Errorf("the status is not %d", r.code())
			case profile == Any:
				return nil
			case !strings.Contains(a.Message, r.Text):
				return fmt.Errorf("the message does not say %q", r.Text)
			case named != answersFirst(profile, rule):
				return fmt.Errorf("the message names %s: %v", r.By, named)
			case !named && a.Code == http.StatusForbidden && !explained(r.By, a.Message):
				return fmt.Errorf("bulkhead why does not find %s from the message", r.By)
			}
			return nil
		},
	}
}

// explained reports whether `bulkhead why` finds the rule from the text of the in-tree plugin.
func explained(rule rules.ID, message string) bool {
	return noderestriction.RuleOfUpstream(message) == rule
}

// answersFirst reports whether Bulkhead, not the in-tree plugin, rejects a write that breaks the
// rule.
func answersFirst(profile Profile, rule rules.Rule) bool {
	return profile == Parity || profile == Hardened && rule.Extension
}

// Written matches the answer to a write that was admitted.
func Written() types.GomegaMatcher {
	return &outcome{wanted: "be admitted", judge: func(a Answer) error {
		if !a.succeeded() {
			return fmt.Errorf("the write did not succeed")
		}
		return nil
	}}
}

// ExpectWriteClaim makes the request function's write as who and compares the answer with the
// labels of the spec, as [Suite.ExpectClaim] does for authorization.
func (s *Suite) ExpectWriteClaim(ctx context.Context, who *Identity, makeRequest RequestFunc, text ...string) {
	ginkgo.GinkgoHelper()
	request := makeRequest(ctx, s.env)
	claim := ReadClaim(ginkgo.CurrentSpecReport().Labels())
	gomega.Expect(claim.Rules).NotTo(gomega.BeEmpty(), "the spec names no rule")
	if claim.Want == Allow || claim.Off != "" && !s.InForce(claim.By) {
		s.ExpectWritten(ctx, who, request)
		return
	}
	refusal := Refusal{By: claim.Rules[0]}
	if len(text) > 0 {
		refusal.Text = text[0]
	}
	s.ExpectRefusedWrite(ctx, who, request, refusal)
}

// settled is how long a spec waits on [Any] between its objects and a write that must be rejected. A
// cluster with several API servers has a webhook beside each. They learn of new objects from watches,
// not at the same moment, and a write that was admitted cannot be repeated.
const settled = time.Second

// ExpectRefusedWrite makes the write and expects that it is rejected in that way. On parity it
// makes the write once. On other profiles it retries while the answer shows that the in-tree
// plugin's informers do not have the Env's objects yet. On every profile it retries while the answer
// says that a lookup of Bulkhead got no answer in time.
func (s *Suite) ExpectRefusedWrite(ctx context.Context, who *Identity, request Request, refusal Refusal) {
	ginkgo.GinkgoHelper()
	s.ExpectRefusal(ctx, func() Answer { return s.write(ctx, who, request) }, refusal)
}

// ExpectRefusal is [Suite.ExpectRefusedWrite] for a write that the caller makes.
func (s *Suite) ExpectRefusal(ctx context.Context, write func() Answer, refusal Refusal) {
	ginkgo.GinkgoHelper()
	rule, known := s.rule(refusal.By)
	gomega.Expect(known).To(gomega.BeTrue(), "%s is not among the rules of suite %s", refusal.By, s.Name)
	right := RefusedWrite(s.Settings.Profile, rule, refusal)
	var answer Answer
	if s.Settings.Profile == Parity {
		answer = answered(ctx, write)
		observe(answer.observed())
		gomega.Expect(answer).To(right)
		return
	}
	var late lateLookups
	defer late.report()
	if s.Settings.Profile == Any && !s.env.changed.IsZero() {
		time.Sleep(settled)
	}
	gomega.Eventually(ctx, func() bool {
		answer = write()
		late.in(answer)
		return isLate(answer, refusal.code(), answersFirst(s.Settings.Profile, rule))
	}).WithTimeout(Soon).WithPolling(pollInterval).Should(gomega.BeFalse(),
		"the in-tree plugin's informers have the objects, and lookups are answered in time")
	observe(answer.observed())
	gomega.Expect(answer).To(right)
}

// isLate reports whether a lookup of Bulkhead got no answer in time, or an in-tree component answered
// from an informer cache that is behind. In-tree admission then does not find an existing object: it
// answers 404, or 500 for pod certificate requests. The Node authorizer then finds no relationship.
// All other answers of Bulkhead name a rule and are never late.
func isLate(a Answer, wanted int, byBulkhead bool) bool {
	switch {
	case a.unanswered():
		return true
	case strings.Contains(a.Message, "[NR-"), strings.Contains(a.Message, "[NA-"),
		strings.Contains(a.Message, "[NS-"):
		return false
	case a.Code == wanted && wanted == http.StatusNotFound && !byBulkhead:
		return false
	case a.Code == http.StatusNotFound, a.Code == http.StatusInternalServerError &&
		strings.Contains(a.Message, "not found"):
		return true
	}
	return strings.Contains(a.Message, "no relationship found")
}

// ExpectWritten makes the write and expects that it is admitted. If the in-tree plugin also decides
// and the Env has changed, it retries until the plugin's cache is up to date.
func (s *Suite) ExpectWritten(ctx context.Context, who *Identity, request Request) {
	ginkgo.GinkgoHelper()
	s.ExpectAdmitted(ctx, func() Answer { return s.write(ctx, who, request) })
}

// ExpectAdmitted is [Suite.ExpectWritten] for a write that the caller makes.
func (s *Suite) ExpectAdmitted(ctx context.Context, write func() Answer) {
	ginkgo.GinkgoHelper()
	var answer Answer
	if s.Settings.Profile == Parity || s.env.changed.IsZero() {
		answer = answered(ctx, write)
		observe(answer.observed())
		gomega.Expect(answer).To(Written())
		return
	}
	claim := ReadClaim(ginkgo.CurrentSpecReport().Labels())
	var late lateLookups
	defer late.report()
	gomega.Eventually(ctx, func() (Answer, error) {
		answer = write()
		if !late.in(answer) && falselyRefused(answer, claim, s.Settings.Profile) {
			stop := gomega.StopTrying(fmt.Sprintf("a false refusal of %s as %s", answer.Request, answer.User))
			return answer, stop.Attach("answer", answer)
		}
		return answer, nil
	}).WithTimeout(Soon).WithPolling(pollInterval).Should(Written())
	observe(answer.observed())
}

// falselyRefused reports whether a rule of Bulkhead rejected a write that the claim says is admitted.
// As in [Suite.BecomesAllowed], a denial by node-authorizer does not count if an authorizer behind it
// must allow the write: node-authorizer may only abstain, and RBAC may see its bindings late. On
// [Any], where several API servers may answer, this also holds where the rule of the claim is off.
func falselyRefused(a Answer, claim Claim, profile Profile) bool {
	switch {
	case strings.Contains(a.Message, "[NR-"), strings.Contains(a.Message, "[NS-"):
		return true
	case claim.By == Behind, profile == Any && claim.Off == Behind:
		return false
	}
	return strings.Contains(a.Message, "[NA-")
}

// write makes the request once and requests no review. Another suite tests what the authorizers
// decide.
func (s *Suite) write(ctx context.Context, who *Identity, request Request) Answer {
	ginkgo.GinkgoHelper()
	recordUser(who)
	code, message, err := who.Send(ctx, request)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return Answer{User: who.User, Request: request, Code: code, Message: message}
}
