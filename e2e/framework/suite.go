// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Suite is one suite on one cluster.
type Suite struct {
	// Name is the suite's name and the prefix of its report files.
	Name string
	// Rules are the rules that the suite proves.
	Rules []rules.Rule
	// Cluster is set from BeforeSuite on.
	*Cluster

	env *Env
}

// NewSuite makes a suite and registers its setup and cleanup nodes with Ginkgo. Call it once, where
// the suite's variable is declared.
func NewSuite(name string, all []rules.Rule) *Suite {
	s := &Suite{Name: name, Rules: all}
	ginkgo.BeforeSuite(s.connect)
	s.registerHooks()
	return s
}

// registerHooks registers what runs around each spec and after all specs.
func (s *Suite) registerHooks() {
	limit := usualSpec
	if slowSuites[s.Name] {
		limit = slowSpec
	}
	ginkgo.AddTreeConstructionNodeArgsTransformer(boundSpecs(limit))
	ginkgo.BeforeEach(s.open)
	ginkgo.JustAfterEach(s.keepEvidence)
	ginkgo.ReportAfterSuite("rule table", s.report)
}

// Run runs the specs on the cluster in the environment. Without a cluster the test is skipped with
// a message.
func (s *Suite) Run(t *testing.T) {
	if os.Getenv(KubeconfigVariable) == "" {
		t.Skipf("%s is not set: the specs of %s need a cluster", KubeconfigVariable, s.Name)
	}
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, s.Name)
}

func (s *Suite) connect(ctx ginkgo.SpecContext) {
	settings, err := ReadSettings()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	s.Cluster, err = Connect(ctx, settings)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	// Cleanups run in reverse order, so this is the last action of the suite.
	ginkgo.DeferCleanup(s.awaitRemoval)
	ginkgo.GinkgoWriter.Printf("profile %s, control plane %s, worker %s\n", settings.Profile, s.ControlPlane, s.Worker)
}

func (s *Suite) open() {
	s.env = newEnv(s.Cluster)
	if why := s.skipReason(ginkgo.CurrentSpecReport().Labels()); why != "" {
		ginkgo.Skip(why)
	}
}

// skipReason returns why specs with such labels cannot run on this cluster. It is called before any
// other setup, because the BeforeAll of an ordered container may break the cluster.
func (s *Suite) skipReason(labels []string) string {
	switch {
	case slices.Contains(labels, OnHardened) && s.Settings.Profile != Hardened:
		return "only on profile hardened"
	case slices.Contains(labels, OnParity) && s.Settings.Profile != Parity:
		return "only on profile parity"
	case slices.Contains(labels, OnHost) && s.Host.Missing() != "":
		return s.Host.Missing()
	case slices.Contains(labels, OnWorker) && s.Worker == "":
		return "there is no worker node: set E2E_WORKER"
	case slices.Contains(labels, Disruptive) && s.Settings.Profile == Any:
		return "it would disturb the whole cluster"
	case s.Settings.Profile != InTree:
		return ""
	}
	claim := ReadClaim(labels)
	for _, id := range claim.Rules {
		if rule, ok := s.rule(id); ok && rule.Extension && claim.Off == "" {
			return fmt.Sprintf("%s goes beyond upstream: the in-tree profile has nothing to compare", id)
		}
	}
	return ""
}

func (s *Suite) rule(id rules.ID) (rules.Rule, bool) {
	for _, rule := range s.Rules {
		if rule.ID == id {
			return rule, true
		}
	}
	return rules.Rule{}, false
}

// Env returns the Env of the current spec.
func (s *Suite) Env() *Env { return s.env }

// RequestFunc makes the objects of the Env and returns the request to the API server.
type RequestFunc func(ctx context.Context, e *Env) Request

// ExpectClaim makes the request function's request as who and compares the answer with the labels
// of the spec. A denial must be immediate. An allowance must be immediate too, unless the request
// function made objects: see [Suite.BecomesAllowed].
func (s *Suite) ExpectClaim(ctx context.Context, who *Identity, makeRequest RequestFunc, text ...string) {
	ginkgo.GinkgoHelper()
	request := makeRequest(ctx, s.env)
	claim := ReadClaim(ginkgo.CurrentSpecReport().Labels())
	gomega.Expect(claim.Rules).NotTo(gomega.BeEmpty(), "the spec names no rule")
	switch {
	case claim.Off != "":
		s.ExpectExtension(ctx, who, request, claim.By, claim.Off, text...)
	case claim.Want == Allow:
		s.ExpectAllowed(ctx, who, request, claim.By)
	default:
		s.ExpectForbidden(ctx, who, request, claim.By, text...)
	}
}

// InForce reports whether a rule is in force on the cluster under test.
func (s *Suite) InForce(id rules.ID) bool {
	rule, ok := s.rule(id)
	gomega.ExpectWithOffset(1, ok).To(gomega.BeTrue(), "%s is not a rule of suite %s", id, s.Name)
	return InForce(rule, s.Settings.Profile)
}

// ExpectExtension makes a request that one rule must deny where it is in force. Where it is not in
// force, another rule must allow the request.
func (s *Suite) ExpectExtension(ctx context.Context, who *Identity, request Request, by, off rules.ID, text ...string) {
	ginkgo.GinkgoHelper()
	if s.InForce(by) {
		s.ExpectForbidden(ctx, who, request, by, text...)
		return
	}
	s.ExpectAllowed(ctx, who, request, off)
}

// ExpectForbidden makes the request once and expects that the rule denies it, with upstream's text
// if one is given. It makes the request again only if a lookup got no answer in time.
func (s *Suite) ExpectForbidden(ctx context.Context, who *Identity, request Request, by rules.ID, text ...string) {
	ginkgo.GinkgoHelper()
	s.ExpectDenial(s.answered(ctx, who, request), by, text...)
}

// answered makes the request, and repeats it only while a lookup gets no answer in time.
func (s *Suite) answered(ctx context.Context, who *Identity, request Request) Answer {
	ginkgo.GinkgoHelper()
	return answered(ctx, func() Answer {
		answer, err := s.Do(ctx, who, request)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		return answer
	})
}

// Reviewed makes the request, and then requests a review of it. It repeats both only while a lookup gets no answer
// in time.
func (s *Suite) Reviewed(ctx context.Context, who *Identity, try func() Answer) Answer {
	ginkgo.GinkgoHelper()
	return answered(ctx, func() Answer {
		answer, err := s.reviewed(ctx, who, try())
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		return answer
	})
}

// ExpectDenial expects that the rule denied the request and its review, with upstream's text if one
// is given.
func (s *Suite) ExpectDenial(answer Answer, by rules.ID, text ...string) {
	ginkgo.GinkgoHelper()
	observe(answer.observed())
	upstream := ""
	if len(text) > 0 {
		upstream = text[0]
	}
	gomega.Expect(answer).To(ForbiddenBy(s.Settings.Profile, by, upstream))
}

// ExpectAllowed makes the request and expects that the rule allows it. If the Env has changed
// what nodes may read, components other than Bulkhead may deny it for a short time. The delay is
// recorded.
func (s *Suite) ExpectAllowed(ctx context.Context, who *Identity, request Request, by rules.ID) {
	ginkgo.GinkgoHelper()
	if s.env.changed.IsZero() {
		answer := s.answered(ctx, who, request)
		observe(answer.observed())
		gomega.Expect(answer).To(AllowedBy(s.Settings.Profile, by))
		return
	}
	s.BecomesAllowed(ctx, who, request, by, s.env.changed)
}

// BecomesAllowed repeats the request until the rule allows it, for at most [Soon]. It records the
// time since the given time. It is for admission and for authorizers after Bulkhead, which see
// changes late. Bulkhead does a live lookup before it denies, so a single denial by Bulkhead is a
// failure, unless it says that this lookup got no answer in time.
func (s *Suite) BecomesAllowed(ctx context.Context, who *Identity, request Request, by rules.ID, since time.Time) {
	ginkgo.GinkgoHelper()
	var answer Answer
	var late lateLookups
	defer late.report()
	gomega.Eventually(ctx, func() (Answer, error) {
		var err error
		answer, err = s.Do(ctx, who, request)
		late.in(answer)
		if err == nil && by != Behind && answer.DeniedByBulkhead() {
			err = gomega.StopTrying(fmt.Sprintf("a false denial of %s as %s", request, who)).Attach("answer", answer)
		}
		return answer, err
	}).WithTimeout(Soon).WithPolling(pollInterval).
		Should(AllowedBy(s.Settings.Profile, by))
	observe(answer.observed())
	recordDuration(TimeToAllow, time.Since(since))
}

// BecomesRefused repeats the request until the rule denies it, for at most [RevokeTimeout]. It
// records how long the right remained after its reason ended at the given time. After that, the
// request must stay denied.
func (s *Suite) BecomesRefused(ctx context.Context, who *Identity, request Request, by rules.ID, since time.Time,
	text ...string) {
	ginkgo.GinkgoHelper()
	// The report needs the last answer also if no denial comes.
	last, refused := isolationreport.Answer{User: who.User, Request: request.String()}, false
	defer func() {
		if !refused {
			observe(last)
		}
	}()
	gomega.Eventually(ctx, func() (int, error) {
		code, message, err := who.Send(ctx, request)
		last.Code, last.Message, last.Allowed = code, message, err == nil && code < http.StatusBadRequest
		return code, err
	}).WithTimeout(RevokeTimeout).WithPolling(pollInterval).Should(gomega.Equal(http.StatusForbidden), "%s as %s",
		request, who)
	refused = true
	recordDuration(TimeToRefuse, time.Since(since))
	s.ExpectForbidden(ctx, who, request, by, text...)
}

// SkipOnInTree skips a spec where Bulkhead is not installed, or may not be.
func (s *Suite) SkipOnInTree(why string) {
	if s.Settings.Profile == InTree || s.Settings.Profile == Any {
		ginkgo.Skip(fmt.Sprintf("not on %s: %s", s.Settings.Profile, why), 1)
	}
}
