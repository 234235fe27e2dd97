// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Refusal is how a write must be refused.
type Refusal struct {
	By rules.ID
	// Code is 403 if it is 0.
	Code int
	// Text is upstream's, or the part of ours that matters.
	Text string
}

func (r Refusal) code() int {
	if r.Code == 0 {
		return http.StatusForbidden
	}
	return r.Code
}

// RefusedWrite matches an answer that refuses a write in this way. Where admission
// is ours alone, and for what upstream does not refuse, the message must name the
// rule. Where the in-tree plugin stands in front of ours, the shared rules are
// refused by it, with its text and without an ID. `bulkhead why` must then find the
// rule from that text.
func RefusedWrite(profile Profile, rule rules.Rule, r Refusal) types.GomegaMatcher {
	return &outcome{
		wanted: fmt.Sprintf("be refused at admission by %s with %d", r.By, r.code()),
		judge: func(a Answer) error {
			named := strings.Contains(a.Message, "["+string(r.By)+"]")
			switch {
			case a.Code != r.code():
				return fmt.Errorf("the status is not %d", r.code())
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

// explained reports whether the rule is found from the text of the in-tree plugin.
func explained(rule rules.ID, message string) bool {
	return noderestriction.RuleOfUpstream(message) == rule
}

// answersFirst reports whether a write that the rule refuses is refused by ours.
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

// HoldWrite makes the story's write as who and holds the answer against the labels
// of the spec, as [Suite.Hold] does for authorization.
func (s *Suite) HoldWrite(ctx context.Context, who *Identity, story Story, text ...string) {
	ginkgo.GinkgoHelper()
	request := story(ctx, s.scene)
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

// ExpectRefusedWrite makes the write once: it must be refused in that way. Where the
// in-tree plugin answers, or stands in front of ours, an answer of its that shows that it
// has not heard of the scene's objects yet is asked for again.
func (s *Suite) ExpectRefusedWrite(ctx context.Context, who *Identity, request Request, refusal Refusal) {
	ginkgo.GinkgoHelper()
	rule, known := s.rule(refusal.By)
	gomega.Expect(known).To(gomega.BeTrue(), "%s is not among the rules of suite %s", refusal.By, s.Name)
	right := RefusedWrite(s.Settings.Profile, rule, refusal)
	if s.Settings.Profile == Parity {
		gomega.Expect(s.write(ctx, who, request)).To(right)
		return
	}
	var answer Answer
	gomega.Eventually(ctx, func() bool {
		answer = s.write(ctx, who, request)
		return isLate(answer, refusal.code(), answersFirst(s.Settings.Profile, rule))
	}).WithTimeout(Soon).WithPolling(often).Should(gomega.BeFalse(), "in-tree hears of what there is")
	gomega.Expect(answer).To(right)
}

// isLate is true for an answer of an in-tree component whose informers are behind:
// admission does not find what there is, which it says with 404 or, of pod
// certificate requests, with 500; or the Node authorizer finds no relationship. Ours
// name a rule, and are never late.
func isLate(a Answer, wanted int, ours bool) bool {
	switch {
	case strings.Contains(a.Message, "[NR-"), strings.Contains(a.Message, "[NA-"), strings.Contains(a.Message, "[NS-"):
		return false
	case a.Code == wanted && wanted == http.StatusNotFound && !ours:
		return false
	case a.Code == http.StatusNotFound, a.Code == http.StatusInternalServerError &&
		strings.Contains(a.Message, "not found"):
		return true
	}
	return strings.Contains(a.Message, "no relationship found")
}

// ExpectWritten makes the write: it must be admitted. Where the in-tree plugin
// stands in front, and the scene has changed, it may take a moment to hear of it.
func (s *Suite) ExpectWritten(ctx context.Context, who *Identity, request Request) {
	ginkgo.GinkgoHelper()
	if s.Settings.Profile == Parity || s.scene.changed.IsZero() {
		gomega.Expect(s.write(ctx, who, request)).To(Written())
		return
	}
	gomega.Eventually(ctx, func() (Answer, error) {
		answer := s.write(ctx, who, request)
		if strings.Contains(answer.Message, "[NR-") || strings.Contains(answer.Message, "[NS-") {
			return answer, gomega.StopTrying(fmt.Sprintf("a false refusal of %s as %s", request, who)).Attach("answer", answer)
		}
		return answer, nil
	}).WithTimeout(Soon).WithPolling(often).Should(Written())
}

// write makes the request once and asks for no review of it: what the authorizers
// say of it is another suite's.
func (s *Suite) write(ctx context.Context, who *Identity, request Request) Answer {
	ginkgo.GinkgoHelper()
	recordUser(who)
	code, message, err := who.Send(ctx, request)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return Answer{User: who.User, Request: request, Code: code, Message: message}
}
