// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"fmt"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/generator"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/subjects"
)

const writesPerCluster = 250

// TestAgainstUpstream gives both subjects the same random writes. They must agree, except for the
// known differences.
func TestAgainstUpstream(t *testing.T) {
	counts, full := harness.Suite{
		Questions: 500_000, PerSeed: writesPerCluster, Seed: 1,
		// Most writes use the default gates of 1.37.
		Gates: []harness.Gates{
			{Name: "defaults", Share: 7},
			{Name: "CSIVolumeHealth", Share: 1, Set: map[string]bool{"CSIVolumeHealth": true}},
			{Name: "old server", Share: 1, Set: map[string]bool{
				"PodCertificateRequest": false, "RecoverVolumeExpansionFailure": false,
			}},
			{Name: "insecure", Share: 1, Set: map[string]bool{
				"ServiceAccountNodeAudienceRestriction": false, "AllowInsecureKubeletCertificateSigningRequests": true,
			}},
		},
		Worker: func(t *testing.T, gates harness.Gates) func(uint64, harness.Counts) string {
			pair, err := subjects.NewPair(gates.Set)
			if err != nil {
				t.Fatal(err)
			}
			return func(seed uint64, counts harness.Counts) string {
				return askAboutCluster(pair, gates.Set, seed, counts)
			}
		},
	}.Run(t)
	if full {
		checkReach(t, counts)
	}
}

// checkReach checks that each rule denied a write, that all usual writes of kubelets were admitted,
// and that each known difference occurred. Otherwise the generator no longer reaches every case.
func checkReach(t *testing.T, counts harness.Counts) {
	t.Helper()
	for id := range sharedRules {
		if counts["refused: "+string(id)] == 0 {
			t.Errorf("%s never refused", id)
		}
	}
	for _, d := range differences {
		if counts["known: "+d.Name] == 0 {
			t.Errorf("%q never occurred", d.Name)
		}
	}
	for _, what := range everyDay {
		if counts["admitted: "+what] == 0 {
			t.Errorf("no %s was admitted", what)
		}
	}
}

func askAboutCluster(pair *subjects.Pair, set map[string]bool, seed uint64, counts harness.Counts) (wrong string) {
	g := generator.New(harness.Seeded(seed))
	if err := pair.Show(g.Cluster); err != nil {
		return err.Error()
	}
	for i := range writesPerCluster {
		write := g.Write()
		if compare(pair, g.Cluster, write, counts) != "" {
			return fmt.Sprintf("write %d: %v", i, example{set, g.Cluster, write}.shrunk())
		}
	}
	return ""
}

// FuzzAgainstUpstream uses the fuzzer's bytes to choose the cluster and the writes.
func FuzzAgainstUpstream(f *testing.F) {
	harness.AddSeeds(f)
	pair, err := subjects.NewPair(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		g := generator.New(harness.FromBytes(bytes))
		if err := pair.Show(g.Cluster); err != nil {
			t.Fatal(err)
		}
		for range 1 + g.IntN(8) {
			if write := g.Write(); compare(pair, g.Cluster, write, harness.Counts{}) != "" {
				t.Fatal(example{nil, g.Cluster, write}.shrunk())
			}
		}
	})
}

func TestDifferencesAreDocumented(t *testing.T) {
	var all []harness.Documented
	for _, d := range differences {
		all = append(all, d.Documented)
	}
	harness.CheckDocumented(t, "NodeRestriction", all)
}
