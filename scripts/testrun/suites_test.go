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
	runs := slices.Concat(disruptiveFailure.suites, nodeScopeDisruptive.suites, certificates.suites, hosts.suites)
	for _, s := range otherDisruptive {
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
