// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// longest bounds the crawl of two nodes.
	longest = 5 * time.Minute
	// mostUndecided is the share of a credential's attempts, in percent, that may end
	// without a decision: more would be a crawl that says nothing. Whom nobody knows is told
	// to wait by kubelet-auth-proxy, which is a refusal, too.
	mostUndecided = 2
	// shown are the lines of a failure. All are in crawl.txt.
	shown = 40
)

var _ = Describe("every credential on the worker's disk, and every token that its kubelet is shown,",
	Label("crawler", Slow, OnHost, OnWorker), func() {
		It("reaches nothing beyond the node but what is on the reviewed list", PollProgressAfter(2*longest),
			func(ctx SpecContext) {
				// Before it looks at anything: what it has seen is to be there when it asks.
				TakeMachine(ctx)
				staged := setStage(ctx, suite.Scene())
				admin := newReader()
				all := admin.discover(ctx)
				tried, not := attempts(all, look(ctx, admin, staged, all))
				credentials, others := findCredentials(ctx, staged)
				ports, unreachable := reachable(ctx, suite.Worker, suite.ControlPlane)
				tried = overRoads(tried, ports)
				s := sender{admin: admin, ports: ports}
				s.control(ctx, credentials)

				begun := time.Now()
				answers := crawlWithin(ctx, s, credentials, tried)
				took := time.Since(begun)
				at := setting{profile: suite.Settings.Profile, scoped: staged.scoped, namespace: staged.namespace}
				found := newReport(at, credentials, answers, slices.Concat(not, others, unreachable), reviewed, at.judged())
				Expect(found.write(suite.Settings.Artifacts, took)).To(Succeed())
				AddReportEntry("crawl", found.summary(), ReportEntryVisibilityAlways)
				Measured("reach beyond the own node", found.number(took))

				expectCredible(found, took)
				expectExplained(found)
			})
	})

// crawlWithin crawls for no longer than is allowed: then what is left is undecided.
func crawlWithin(ctx context.Context, s sender, credentials []*credential, tried []attempt) []answer {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	return s.crawl(ctx, credentials, tried)
}

// overRoads leaves out attempts at ports that cannot be reached.
func overRoads(tried []attempt, ports map[string]*Port) []attempt {
	var all []attempt
	for _, a := range tried {
		if a.Node == "" || ports[a.Node] != nil {
			all = append(all, a)
		}
	}
	return all
}

// number is what goes to the README.
func (r *report) number(took time.Duration) string {
	return fmt.Sprintf("%d rights, by %d of %d attempts with %d credentials that succeeded, in %s; profile %s, node "+
		"scope installed: %v",
		r.rights(), r.All.Beyond, r.All.Made, len(r.Credentials), took.Round(time.Second), r.Setting.profile,
		r.Setting.scoped)
}

// expectCredible fails for a crawl that would look safe whatever the cluster allows.
func expectCredible(r *report, took time.Duration) {
	GinkgoHelper()
	names := r.names()
	for _, name := range []string{
		kubeletName, joiner, "stage/" + app, "stage/" + collector, "stage/" + scraper, "stage/" + tenant, "stage/" + minter,
	} {
		Expect(names).To(ContainElement(name), "not every credential was found")
	}
	for _, c := range r.Credentials {
		t := r.By[c]
		Expect(t.Made).To(BeNumerically(">", 0), "%s has tried nothing", c.Name)
		if c.Foreign == "" {
			Expect(c.known()).To(BeTrue(), "%s (%s) is broken: asked who it is, the API server answers %d", c.Name, c.From,
				c.Control)
			Expect(t.Verdicts[succeeded]).To(BeNumerically(">", 0), "%s has succeeded in nothing, not even discovery", c.Name)
			Expect(100*t.Verdicts[undecided]).To(BeNumerically("<=", mostUndecided*t.Made), "%s: too much was not decided:\n%s",
				c.Name, first(r.examples(undecided)))
		}
	}
	Expect(took).To(BeNumerically("<", longest))
}

// expectExplained fails for what has succeeded and is not on the reviewed list; and on
// hardened for what is on the list and did not, for a list that promises too much hides
// what comes back.
func expectExplained(r *report) {
	GinkgoHelper()
	if !r.Setting.judged() {
		return
	}
	Expect(len(r.Unexplained)).To(BeZero(), "on no entry of the reviewed list:\n%s", first(r.unexplained()))
	if r.Setting.profile == Hardened {
		Expect(len(r.Unused)).To(BeZero(), "entries of the reviewed list that explain nothing:\n%s", first(r.unused()))
	}
}

// first are the first of many lines.
func first(lines []string) string {
	text := ""
	for i, line := range lines {
		if i == shown {
			return text + fmt.Sprintf("… and %d more, in crawl.txt\n", len(lines)-shown)
		}
		text += line + "\n"
	}
	return text
}
