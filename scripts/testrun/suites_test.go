// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2/types"
)

// A suite that gets its first disruptive spec needs a selection for it.
func TestDisruptiveSpecsOfEachSuiteRun(t *testing.T) {
	runs := slices.Concat(certificates.suites, hosts.suites)
	for _, s := range slices.Concat(disruptiveHere, disruptiveThere) {
		runs = append(runs, s.suites...)
	}
	files, err := filepath.Glob("../../e2e/*/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		suite := filepath.Base(filepath.Dir(file))
		if strings.Contains(string(text), "Label(Disruptive") && !slices.Contains(runs, suite) {
			t.Errorf("make test does not run the disruptive specs of %s", file)
		}
	}
}

func TestEachFormOfAnAttackRuns(t *testing.T) {
	for _, tc := range []struct {
		name                     string
		labels                   []string
		hardened, parity, inTree bool
	}{
		{"attack", nil, true, false, false},
		{"chain", []string{"chain"}, true, false, true},
		{"unprotected", []string{"unprotected"}, false, false, true},
		// In in-tree the suite skips it.
		{"unprotected, only in hardened", []string{"unprotected", "only:hardened"}, true, false, true},
		{"twin", []string{"twin"}, true, false, false},
		{"disruptive", []string{"disruptive", "only:hardened"}, false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for profile, want := range map[string]bool{"hardened": tc.hardened, "parity": tc.parity, "in-tree": tc.inTree} {
				s := rulesOf[profile]
				has := len(s.suites) == 0 || slices.Contains(s.suites, "attacks")
				if got := has && types.MustParseLabelFilter(s.label)(tc.labels); got != want {
					t.Errorf("profile %s runs the spec: %v, want %v", profile, got, want)
				}
			}
		})
	}
}

// In hardened a skipped spec is a failure.
func TestSpecsForParityDoNotRunInHardened(t *testing.T) {
	alone := []selection{rulesOf["hardened"], nodeScope, crawl, certificates, hosts, disruptive}
	for _, s := range slices.Concat(alone, disruptiveHere, disruptiveThere) {
		for _, labels := range [][]string{{"only:parity"}, {"only:parity", "disruptive"}} {
			if types.MustParseLabelFilter(s.labelOn("hardened"))(labels) {
				t.Errorf("selection %s runs a spec with the labels %q in hardened", s.name, labels)
			}
		}
	}
	for _, profile := range []string{"hardened", "parity"} {
		label := rulesOf[profile].labelOn(profile)
		if !types.MustParseLabelFilter(label)([]string{"host"}) {
			t.Errorf("in %s the filter %s leaves out a spec without a profile", profile, label)
		}
	}
}

// No disruptive spec of failure runs twice or is left out.
func TestEachDisruptiveSpecOfFailureRunsOnce(t *testing.T) {
	for _, labels := range [][]string{{"disruptive"}, {"disruptive", "load"}} {
		runs := 0
		for _, s := range slices.Concat([]selection{disruptiveLoad}, disruptiveHere, disruptiveThere) {
			if slices.Contains(s.suites, "failure") && types.MustParseLabelFilter(s.label)(labels) {
				runs++
			}
		}
		if runs != 1 {
			t.Errorf("a spec with the labels %q runs %d times, want once", labels, runs)
		}
	}
}
