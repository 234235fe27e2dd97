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
	// mostUndecided is the percentage of a credential's attempts that may end without a decision.
	// With more, the crawl proves nothing. It applies only to credentials that the API server must
	// accept: kubelet-auth-proxy answers unauthenticated callers with 429, which is a denial, too.
	mostUndecided = 2
	// maxLines is the number of lines in a failure message. crawl.txt has all lines.
	maxLines = 40
)

var _ = Describe("every credential on the worker's disk, and every token that its kubelet receives,",
	Label("crawler", Slow, OnHost, OnWorker), func() {
		It("outside of the node, reaches only what is on the reviewed list", PollProgressAfter(2*longest),
			func(ctx SpecContext) {
				// Take the lock before the crawl reads the cluster: objects that it reads must
				// still exist when it sends requests.
				TakeMachine(ctx)
				staged := setStage(ctx, suite.Env())
				admin := newReader()
				all := admin.discover(ctx)
				tried, not := attempts(all, look(ctx, admin, staged, all))
				credentials, others := findCredentials(ctx, staged)
				ports, unreachable := reachable(ctx, suite.Worker, suite.ControlPlane)
				tried = withReachablePorts(tried, ports)
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

// crawlWithin stops the crawl at the time limit. The remaining attempts are then undecided.
func crawlWithin(ctx context.Context, s sender, credentials []*credential, tried []attempt) []answer {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	return s.crawl(ctx, credentials, tried)
}

// withReachablePorts removes attempts at ports that cannot be reached.
func withReachablePorts(tried []attempt, ports map[string]*Port) []attempt {
	var all []attempt
	for _, a := range tried {
		if a.Node == "" || ports[a.Node] != nil {
			all = append(all, a)
		}
	}
	return all
}

// number returns the result that the README states.
func (r *report) number(took time.Duration) string {
	return fmt.Sprintf("%d rights, by %d of %d attempts with %d credentials that succeeded, in %s; profile %s, node "+
		"scope installed: %v",
		r.rights(), r.All.Outside, r.All.Made, len(r.Credentials), took.Round(time.Second), r.Setting.profile,
		r.Setting.scoped)
}

// expectCredible fails for a crawl whose result would look safe on any cluster.
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

// expectExplained fails for a success that is not on the reviewed list. On hardened it also fails
// for an entry of the list that did not succeed: an entry that is not needed would hide a
// regression.
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

// first returns the first of many lines.
func first(lines []string) string {
	text := ""
	for i, line := range lines {
		if i == maxLines {
			return text + fmt.Sprintf("… and %d more, in crawl.txt\n", len(lines)-maxLines)
		}
		text += line + "\n"
	}
	return text
}
