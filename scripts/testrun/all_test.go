// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEverySuiteIsRunOnceInItsCluster(t *testing.T) {
	s := newStand(t)
	synctest.Test(t, func(t *testing.T) {
		if err := s.stages(t.Context(), everything); err != nil {
			t.Error(err)
		}
	})
	var got []string
	reports := map[string]bool{}
	for _, j := range s.jobs {
		got = append(got, fmt.Sprintf("%s %s in %s, skips: %v", j.profile, j.name, j.kubeconfig[strings.LastIndexByte(j.kubeconfig, '/')+1:], !j.noSkips))
		reports[j.report] = true
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{
		"hardened certificates in kubeconfig-certificates, skips: false",
		"hardened crawl in kubeconfig, skips: false",
		"hardened disruptive in kubeconfig, skips: false",
		"hardened node-scope in kubeconfig, skips: false",
		"hardened node-scope-disruptive in kubeconfig-others, skips: false",
		"hardened rules in kubeconfig, skips: false",
		"in-tree crawl in kubeconfig-others, skips: true",
		"in-tree disruptive in kubeconfig-others, skips: true",
		"in-tree rules in kubeconfig-others, skips: true",
		"parity disruptive in kubeconfig-others, skips: true",
		"parity rules in kubeconfig-others, skips: true",
	}, got); diff != "" {
		t.Error(diff)
	}
	for _, g := range slices.Concat(busyRuns, waitingRuns, []ginkgoRun{certificatesRun}) {
		if !slices.ContainsFunc(s.jobs, func(j job) bool { return j.profile == "hardened" && j.name == g.name }) {
			t.Errorf("%s is in no lane", g.name)
		}
	}
	if len(reports) != len(s.jobs) {
		t.Errorf("%d calls of Ginkgo have %d reports", len(s.jobs), len(reports))
	}
	// Verify, unit, fuzzing, manifests, and one for each call of Ginkgo.
	if want := (count{passed: 4 + len(s.jobs)}); s.ledger.total != want {
		t.Errorf("counted %+v, want %+v", s.ledger.total, want)
	}
	if !strings.HasSuffix(s.said.String(), "\n15 passed, 0 failed, 0 skipped\n") {
		t.Errorf("the last line is not the count:\n%s", s.said.String())
	}
}

func TestClustersAreMadeOneAfterTheOther(t *testing.T) {
	s := newStand(t)
	synctest.Test(t, func(t *testing.T) { _ = s.stages(t.Context(), everything) })
	s.inOrder(t,
		"end tools", "begin verify", "end verify", "begin compile", "end compile",
		"machine taken", "begin up --name=bulkhead --profile=hardened", "end up --name=bulkhead ", "on bulkhead-control-plane",
		"begin up --name=bulkhead-certificates --profile=hardened --node-image=auto --fresh --install-flag", "end up --name=bulkhead-certificates",
		"begin up --name=bulkhead-others --profile=in-tree", "end up --name=bulkhead-others", "end parity disruptive",
		"begin up --name=bulkhead-others --profile=hardened", "begin unit", "end hardened node-scope-disruptive",
		"begin down --name=bulkhead-others", "end down --name=bulkhead-others")
	s.inOrder(t, "end hardened certificates", "begin down --name=bulkhead-certificates", "end down --name=bulkhead-certificates")
	if s.at("begin down --name=bulkhead ") >= 0 {
		t.Error("the cluster that a person has is removed")
	}
}

// slow is a call of Ginkgo that takes a day.
func (s *stand) slow(call string) {
	fast := s.works.specs
	s.works.specs = func(ctx context.Context, j job, out io.Writer) (count, error) {
		if j.profile+" "+j.name == call {
			time.Sleep(24 * time.Hour)
		}
		return fast(ctx, j, out)
	}
}

func TestLanesAreBusyOneAfterTheOther(t *testing.T) {
	s := newStand(t)
	s.slow("hardened crawl")
	synctest.Test(t, func(t *testing.T) { _ = s.stages(t.Context(), everything) })
	s.inOrder(t, "end hardened rules", "begin hardened node-scope", "end hardened crawl", "begin up --name=bulkhead-certificates",
		"begin up --name=bulkhead-others", "begin in-tree rules")
	if !strings.Contains(s.said.String(), "others: waiting for its turn") {
		t.Error("where the time went does not say that others had to wait")
	}
}

func TestNobodyWaitsForALaneThatWaits(t *testing.T) {
	for _, waits := range []string{"hardened disruptive", "hardened certificates"} {
		s := newStand(t)
		s.slow(waits)
		synctest.Test(t, func(t *testing.T) { _ = s.stages(t.Context(), everything) })
		s.inOrder(t, "begin in-tree rules", "end down --name=bulkhead-others", "end "+waits)
	}
}

func TestWhatFailsInOneLaneStopsNoOther(t *testing.T) {
	for _, tc := range []struct {
		name, broken        string
		ran, passed, failed int
	}{
		{"a cluster that cannot be made", "up --name=bulkhead ", 7, 11, 1},
		{"nor this, which another waits for", "up --name=bulkhead-certificates", 10, 14, 1},
		{"nor this, which is switched", "up --name=bulkhead-others", 5, 8, 3},
		{"a call of Ginkgo", "in-tree rules", 11, 14, 1},
		{"a cluster that cannot be removed", "down --name=bulkhead-others", 11, 15, 1},
		{"fuzzing", "fuzz", 11, 14, 1},
		{"the unit tests", "unit", 11, 14, 1},
		{"what comes between steps, in three lanes", "machine", 0, 3, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStand(t, tc.broken)
			synctest.Test(t, func(t *testing.T) {
				if err := s.stages(t.Context(), everything); !errors.Is(err, errFailed) {
					t.Errorf("err = %v", err)
				}
			})
			if len(s.jobs) != tc.ran {
				t.Errorf("%d calls of Ginkgo, want %d", len(s.jobs), tc.ran)
			}
			if want := (count{passed: tc.passed, failed: tc.failed}); s.ledger.total != want {
				t.Errorf("counted %+v, want %+v", s.ledger.total, want)
			}
			for _, cluster := range []string{renewals, others} {
				if s.at("end down --name="+cluster) < 0 {
					t.Error(cluster, "is left")
				}
			}
			_, end, _ := strings.Cut(s.said.String(), "  in all\n")
			if !strings.HasPrefix(end, "\nFAILED ") || !strings.Contains(end, "\nerror: "+errBroken.Error()+"\n") {
				t.Errorf("after the times there is not what failed, but:\n%s", end)
			}
		})
	}
}

func TestVerifyAndUnitAreCountedWhateverElseFails(t *testing.T) {
	for _, broken := range []string{"tools", "compile"} {
		t.Run(broken, func(t *testing.T) {
			s := newStand(t, broken)
			synctest.Test(t, func(t *testing.T) { _ = s.stages(t.Context(), everything) })
			// Verify, unit and fuzzing.
			if want := (count{passed: 3, failed: 1}); s.ledger.total != want {
				t.Errorf("counted %+v, want %+v", s.ledger.total, want)
			}
			if s.at("begin up") >= 0 {
				t.Error("a cluster was made for nothing")
			}
		})
	}
}

func TestAnInterruptionEndsAllAndLeavesNoCluster(t *testing.T) {
	s := newStand(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		begun := time.Now()
		// Two clusters are up then, a suite runs in one, and the third is being made.
		time.AfterFunc(8*time.Hour+30*time.Minute, interrupt)
		if err := s.stages(ctx, everything); !errors.Is(err, errFailed) {
			t.Errorf("err = %v", err)
		}
		// To remove a cluster takes its hour.
		if took, most := time.Since(begun), 9*time.Hour+30*time.Minute; took != most {
			t.Errorf("it took %s, want %s", took, most)
		}
	})
	if begun := len(s.jobs); begun != 5 {
		t.Errorf("%d calls of Ginkgo were begun, want hardened's and the certificates'", begun)
	}
	// Whose context had ended would not have taken its hour.
	s.inOrder(t, "end up --name=bulkhead-others", "begin down --name=bulkhead-others", "end down --name=bulkhead-others")
	s.inOrder(t, "end hardened certificates", "begin down --name=bulkhead-certificates", "end down --name=bulkhead-certificates")
	for _, cluster := range []string{renewals, others} {
		if !strings.Contains(s.said.String(), "make down of "+cluster+": 0 passed") {
			t.Error(cluster, "was not removed in peace")
		}
	}
}
