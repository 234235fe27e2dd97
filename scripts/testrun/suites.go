// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// ginkgoRun is one call of Ginkgo.
type ginkgoRun struct {
	// name is that of its report.
	name  string
	label string
	procs int
	// only are the suites that it is about, and except those that it is not about. With
	// neither it is about all.
	only, except []string
}

// Together these are every spec once. What breaks the cluster on purpose runs
// alone; the others leave it as they find it.
var (
	certificatesRun = ginkgoRun{name: "certificates", only: []string{"certificates"}}
	rulesRun        = ginkgoRun{name: "rules", label: "!disruptive", procs: 3, except: []string{"certificates", "crawler", "nodescope"}}
	disruptiveRun   = ginkgoRun{name: "disruptive", label: "disruptive", except: []string{"certificates", "crawler", "nodescope"}}
	// The crawl asks as fast as it is answered, and is judged by what nobody decided: it is
	// alone.
	crawlRun = ginkgoRun{name: "crawl", only: []string{"crawler"}}
	// Node scope is switched on by whoever wants it, so it is a run of its own.
	nodeScopeRun           = ginkgoRun{name: "node-scope", label: "!disruptive", procs: 3, only: []string{"nodescope"}}
	nodeScopeDisruptiveRun = ginkgoRun{name: "node-scope-disruptive", label: "disruptive", only: []string{"nodescope"}}
	// busyRuns and waitingRuns are those of the profile that has everything: what takes all
	// of the machine, and what is nearly all waiting for something to be dead, or to be back.
	busyRuns    = []ginkgoRun{rulesRun, nodeScopeRun, crawlRun}
	waitingRuns = []ginkgoRun{disruptiveRun, nodeScopeDisruptiveRun}
)

// of are those of the suites that the run is about.
func (g ginkgoRun) of(suites []string) []string {
	return slices.DeleteFunc(slices.Clone(suites), func(name string) bool {
		return len(g.only) > 0 && !slices.Contains(g.only, name) || slices.Contains(g.except, name)
	})
}

// wholeSuite is every spec that has something to say about the profile.
func (l *lane) wholeSuite(ctx context.Context, profile string) error {
	if profile != "hardened" {
		return l.suites(ctx, profile, rulesRun, crawlRun, disruptiveRun)
	}
	// Not beside each other: a renewal costs the calls that are under way.
	return l.suites(ctx, profile, slices.Concat(busyRuns, waitingRuns, []ginkgoRun{certificatesRun})...)
}

// suites runs several calls of Ginkgo, one after the other.
func (l *lane) suites(ctx context.Context, profile string, all ...ginkgoRun) error {
	var err error
	for _, g := range all {
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		err = errors.Join(err, l.suite(ctx, profile, g))
	}
	return err
}

// suite runs one call of Ginkgo on the lane's cluster.
func (l *lane) suite(ctx context.Context, profile string, g ginkgoRun) error {
	j := l.job(profile, g)
	l.ledger.expect(j.report)
	what := "end-to-end, " + profile + ": " + g.name
	_, said, err := l.step(what, func() (count, error) { return l.works.specs(ctx, j, l.out) })
	// Specs that failed are in the report.
	if err != nil {
		l.ledger.fail(l.of(what), said, err)
	}
	fmt.Fprintf(l.out, "    JUnit, the rule table and what failed: %s\n", filepath.Dir(j.report))
	return about(what, err)
}

// job is one call of Ginkgo with all that it has to know of its lane.
type job struct {
	ginkgoRun
	profile, kubeconfig string
	// report is the file with the report of the call. Each call has a folder: a suite whose
	// specs belong to several calls reports in each of them.
	report  string
	noSkips bool
}

func (l *lane) job(profile string, g ginkgoRun) job {
	report := filepath.Join(l.output, "e2e", profile, g.name, g.name+".junit.xml")
	return job{ginkgoRun: g, profile: profile, kubeconfig: l.kubeconfig(), report: report, noSkips: l.whole && profile == "hardened"}
}
