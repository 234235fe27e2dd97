// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/onsi/ginkgo/v2/types"
)

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
