// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
)

// selection is the specs of one call of Ginkgo: the specs in suites that match the label filter. If
// suites is empty, it means all suites without their own selection.
type selection struct {
	name, label string
	procs       int
	suites      []string
	// timeout bounds the run. The default is 50 minutes. environment is added, as NAME=value.
	timeout     time.Duration
	environment []string
}

// Together, these selections run every spec. Disruptive specs run alone.
var (
	rules = selection{name: "rules", label: "!disruptive", procs: 3}
	// everything runs all of these in hardened. In parity it runs the rules of both webhooks, which have no
	// in-tree plugin behind them there, also the disruptive specs that need parity (the label only:parity).
	// In in-tree it runs the unprotected form of each attack, which must succeed, and the chains. An
	// unprotected form that needs hardened (the label only:hardened) runs there. Two processes in in-tree:
	// disruptive specs of hardened run at the same time.
	rulesOf = map[string]selection{
		"hardened": {name: "rules", label: "!disruptive && (!unprotected || only:hardened)", procs: 3},
		"parity": {name: "rules", label: "!disruptive || only:parity", procs: 3,
			suites: []string{"nodeauthorizer", "noderestriction"}},
		"in-tree": {name: "attacks", label: "unprotected || chain", procs: 2, suites: []string{"attacks"}},
	}
	disruptive = selection{name: "disruptive", label: "disruptive && !long"}
	// everything runs the disruptive specs of each suite as a part of its own, so that the limit applies to
	// each. Those with the label load send many requests all the time, so no other suite runs beside them.
	disruptiveLoad = selection{name: "disruptive-load", label: disruptive.label + " && load", suites: []string{"failure"}}
	// The others run on two clusters at the same time. Neither has much more to do than the other.
	disruptiveHere  = []selection{disruptiveIn("failure"), disruptiveIn("nodeauthorizer"), nodeScopeDisruptive}
	disruptiveThere = []selection{disruptiveIn("noderestriction"), disruptiveIn("kubeletauth")}
	// The crawl sends requests as fast as it can, so it runs alone.
	crawl = selection{name: "crawl", suites: []string{"crawler"}}
	// Node scope is optional: its suite runs in profile hardened.
	nodeScope           = selection{name: "node-scope", label: "!disruptive", procs: 3, suites: []string{"nodescope"}}
	nodeScopeDisruptive = selection{name: "node-scope-disruptive", label: "disruptive", suites: []string{"nodescope"}}
	// A renewal breaks open connections to the API server, so these run alone, too.
	certificates = selection{name: "certificates", suites: []string{"certificates"}}
	// These need a cluster with three control planes. The long specs run kubeadm's commands.
	hosts     = selection{name: "hosts", label: "!long", suites: []string{"hosts"}}
	hostsLong = selection{name: "hosts", suites: hosts.suites, timeout: 2 * time.Hour}

	special = slices.Concat(crawl.suites, nodeScope.suites, certificates.suites, hosts.suites)
)

// labelOn returns the label filter. In hardened no spec may be skipped, so it leaves out the specs for parity.
func (s selection) labelOn(profile string) string {
	switch {
	case profile != "hardened":
		return s.label
	case s.label == "":
		return "!only:parity"
	}
	return "(" + s.label + ") && !only:parity"
}

func disruptiveIn(suite string) selection {
	return selection{name: disruptive.name + "-" + suite, label: disruptive.label + " && !load", suites: []string{suite}}
}

// findSuites returns the folders of all suites, or only of the suites without their own selection.
func (j *job) findSuites(all bool) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(j.root, "e2e", "*", "suite_test.go"))
	var suites []string
	for _, file := range files {
		if suite := filepath.Base(filepath.Dir(file)); all || !slices.Contains(special, suite) {
			suites = append(suites, suite)
		}
	}
	if err == nil && len(suites) == 0 {
		err = errors.New("cannot find the suites: no e2e/*/suite_test.go")
	}
	return suites, err
}

// compiled returns the path of a link to a suite's program. Ginkgo runs a suite in the folder of
// the program, and specs read files there.
func (j *job) compiled(suite string) string {
	return filepath.Join(j.root, "e2e", suite, suite+".test")
}

// compileSuites compiles every suite once, for all calls of Ginkgo.
func (j *job) compileSuites(ctx context.Context) error {
	return j.step(ctx, "compiling the end-to-end suites", func(*result) error {
		suites, err := j.findSuites(true)
		if err := errors.Join(err, os.MkdirAll(j.path("suites"), 0o755)); err != nil {
			return err
		}
		// Reports name the version of the suites.
		flags, err := j.command(ctx, "scripts/ldflags.sh").Output()
		if err != nil {
			return fmt.Errorf("cannot find out the version: %w", err)
		}
		args := append([]string{"env"}, host.CompilerEnv()...)
		args = append(args, "go", "test", "-c", "-ldflags="+strings.TrimSpace(string(flags)), "-o", j.path("suites")+"/")
		for _, suite := range suites {
			args = append(args, "./e2e/"+suite)
			err := os.Symlink(filepath.Join("..", "..", "_output", "suites", suite+".test"), j.compiled(suite))
			if err != nil && !os.IsExist(err) {
				return err
			}
		}
		return host.WithHugePages(j.out, func() error { return j.run(j.command(ctx, args...)) })
	})
}

// specs runs the selections in order. A failure does not stop the next one.
func (j *job) specs(ctx context.Context, profile string, selections ...selection) error {
	var errs error
	for _, s := range selections {
		errs = errors.Join(errs, j.part(ctx, "end-to-end, "+profile+": "+s.name, func(r *result) error {
			return j.ginkgo(ctx, r, profile, s)
		}))
	}
	return errs
}

func (j *job) ginkgo(ctx context.Context, r *result, profile string, s selection) error {
	suites, err := s.suites, error(nil)
	if len(suites) == 0 {
		suites, err = j.findSuites(s.name == selected)
	}
	artifacts := j.path("e2e", profile, s.name)
	fmt.Fprintf(j.out, "    JUnit, the rule table, the results and the logs of failed specs: %s\n", artifacts)
	if err := errors.Join(err, os.RemoveAll(artifacts), os.MkdirAll(artifacts, 0o755)); err != nil {
		return err
	}
	junit := s.name + ".junit.xml"
	cmd := []string{
		j.path("bin", "ginkgo"), "run", "--no-color", "--keep-going", "--poll-progress-after=90s",
		"--timeout=" + cmp.Or(s.timeout, 50*time.Minute).String(), "--silence-skips",
		"--output-dir=" + artifacts, "--junit-report=" + junit,
		"--label-filter=" + s.labelOn(profile), fmt.Sprintf("--procs=%d", max(1, s.procs)),
	}
	for _, suite := range suites {
		cmd = append(cmd, j.compiled(suite))
	}
	ran := j.run(j.withNodes(ctx, slices.Concat([]string{
		"env", "E2E_KUBECONFIG=" + j.kubeconfig(), "E2E_PROFILE=" + profile, "E2E_ARTIFACTS=" + artifacts,
	}, s.environment, cmd)...))
	err = r.judge(ran, r.readJUnit(filepath.Join(artifacts, junit), suites...))
	if err == nil && r.skipped > 0 && j.name != "" && profile == "hardened" {
		// This profile has every feature, so a skipped spec means that a rule is not tested.
		return fmt.Errorf("%d specs were skipped; in profile hardened, `make test` allows none", r.skipped)
	}
	return err
}
