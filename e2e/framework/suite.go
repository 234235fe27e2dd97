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

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Suite is one suite on one cluster.
type Suite struct {
	// Name is the suite's, and the beginning of its reports' file names.
	Name string
	// Rules are those that the suite proves.
	Rules []rules.Rule
	// Cluster is there from BeforeSuite on.
	*Cluster

	scene *Scene
}

// NewSuite describes a suite and tells Ginkgo what belongs around its specs.
// It is called once, where the suite's variable is declared.
func NewSuite(name string, all []rules.Rule) *Suite {
	s := &Suite{Name: name, Rules: all}
	ginkgo.BeforeSuite(s.connect)
	s.surround()
	return s
}

// surround tells Ginkgo what belongs around each spec, and after all of them.
func (s *Suite) surround() {
	ginkgo.BeforeEach(s.open)
	ginkgo.JustAfterEach(s.keepEvidence)
	ginkgo.ReportAfterSuite("rule table", s.report)
}

// Run runs the specs on the cluster that the environment names; without one the
// test says so and is skipped.
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
	// Clean-up goes backwards: this is the last thing that the suite does.
	ginkgo.DeferCleanup(s.awaitRemoval)
	ginkgo.GinkgoWriter.Printf("profile %s, control plane %s, worker %s\n", settings.Profile, s.ControlPlane, s.Worker)
}

func (s *Suite) open() {
	s.scene = newScene(s.Cluster)
	if why := s.unfit(ginkgo.CurrentSpecReport().Labels()); why != "" {
		ginkgo.Skip(why)
	}
}

// unfit says why specs with such labels cannot run on this cluster. It is asked
// before anything else: the BeforeAll of an ordered container may break things.
func (s *Suite) unfit(labels []string) string {
	switch {
	case slices.Contains(labels, OnHardened) && s.Settings.Profile != Hardened:
		return "only on profile hardened"
	case slices.Contains(labels, OnHost) && s.Host.Missing() != "":
		return s.Host.Missing()
	case slices.Contains(labels, OnWorker) && s.Worker == "":
		return "no node is a worker: set E2E_WORKER"
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

// Scene is the stage of the spec that runs now.
func (s *Suite) Scene() *Scene { return s.scene }

// Story sets the scene, and tells what is asked of the API server.
type Story func(ctx context.Context, s *Scene) Request

// Hold makes the story's request as who and holds the answer against the labels
// of the spec. A refusal is asserted at once. So is an allowance, unless the
// story made objects: see [Suite.BecomesAllowed].
func (s *Suite) Hold(ctx context.Context, who *Identity, story Story, text ...string) {
	ginkgo.GinkgoHelper()
	request := story(ctx, s.scene)
	claim := ReadClaim(ginkgo.CurrentSpecReport().Labels())
	gomega.Expect(claim.Rules).NotTo(gomega.BeEmpty(), "the spec names no rule")
	switch {
	case claim.Off != "":
		s.ExpectBeyond(ctx, who, request, claim.By, claim.Off, text...)
	case claim.Want == Allow:
		s.ExpectAllowed(ctx, who, request, claim.By)
	default:
		s.ExpectForbidden(ctx, who, request, claim.By, text...)
	}
}

// InForce reports whether a rule is in force on the cluster under test.
func (s *Suite) InForce(id rules.ID) bool {
	rule, ok := s.rule(id)
	gomega.ExpectWithOffset(1, ok).To(gomega.BeTrue(), "%s is not among the rules of suite %s", id, s.Name)
	return InForce(rule, s.Settings.Profile)
}

// ExpectBeyond makes a request that must be refused by a rule where that is in
// force, and be allowed by another rule where it is not.
func (s *Suite) ExpectBeyond(ctx context.Context, who *Identity, request Request, by, off rules.ID, text ...string) {
	ginkgo.GinkgoHelper()
	if s.InForce(by) {
		s.ExpectForbidden(ctx, who, request, by, text...)
		return
	}
	s.ExpectAllowed(ctx, who, request, off)
}

// ExpectForbidden makes the request once: it must be refused by the rule, with
// upstream's text if one is given.
func (s *Suite) ExpectForbidden(ctx context.Context, who *Identity, request Request, by rules.ID, text ...string) {
	ginkgo.GinkgoHelper()
	answer, err := s.Do(ctx, who, request)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	upstream := ""
	if len(text) > 0 {
		upstream = text[0]
	}
	gomega.Expect(answer).To(ForbiddenBy(s.Settings.Profile, by, upstream))
}

// ExpectAllowed makes the request: it must be allowed by the rule. If the scene
// has changed what nodes may read, others than us may refuse it for a moment; how
// long is recorded.
func (s *Suite) ExpectAllowed(ctx context.Context, who *Identity, request Request, by rules.ID) {
	ginkgo.GinkgoHelper()
	if s.scene.changed.IsZero() {
		answer, err := s.Do(ctx, who, request)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		gomega.Expect(answer).To(AllowedBy(s.Settings.Profile, by))
		return
	}
	s.BecomesAllowed(ctx, who, request, by, s.scene.changed)
}

// BecomesAllowed repeats the request until the rule allows it, for at most
// [Soon], and records how long that took since the given moment. It is for
// admission and for the authorizers behind, which hear of changes late: ours looks
// again before it refuses, so one refusal by ours is one too many.
func (s *Suite) BecomesAllowed(ctx context.Context, who *Identity, request Request, by rules.ID, since time.Time) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() (Answer, error) {
		answer, err := s.Do(ctx, who, request)
		if err == nil && by != Behind && answer.RefusedByUs() {
			err = gomega.StopTrying(fmt.Sprintf("a false refusal of %s as %s", request, who)).Attach("answer", answer)
		}
		return answer, err
	}).WithTimeout(Soon).WithPolling(often).
		Should(AllowedBy(s.Settings.Profile, by))
	recordDuration(TimeToAllow, time.Since(since))
}

// BecomesRefused repeats the request until the rule refuses it, for at most
// [Outlived], and records how long a right outlived its reason, which ended at the
// given moment. From then on it must stay refused.
func (s *Suite) BecomesRefused(ctx context.Context, who *Identity, request Request, by rules.ID, since time.Time,
	text ...string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() (int, error) {
		code, _, err := who.Send(ctx, request)
		return code, err
	}).WithTimeout(Outlived).WithPolling(often).Should(gomega.Equal(http.StatusForbidden), "%s as %s", request, who)
	recordDuration(TimeToRefuse, time.Since(since))
	s.ExpectForbidden(ctx, who, request, by, text...)
}

// NeedsOurs skips a spec where nothing of ours is installed.
func (s *Suite) NeedsOurs(why string) {
	if s.Settings.Profile == InTree {
		ginkgo.Skip("not on in-tree: "+why, 1)
	}
}
