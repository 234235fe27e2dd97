// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"fmt"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/nodeauthorizer/generator"
)

const (
	stepsPerCluster = 60
	requestsPerStep = 20
)

// TestAgainstUpstream gives both authorizers the same random clusters and requests. They must
// agree, except for the known differences.
func TestAgainstUpstream(t *testing.T) {
	harness.Suite{
		Questions: 1_000_000, PerSeed: stepsPerCluster * requestsPerStep, Seed: 1,
		// Most requests use the default gates of 1.37.
		Gates: []harness.Gates{
			{Name: "defaults", Share: 7},
			{Name: "CSIVolumeHealth", Share: 1, Set: map[string]bool{"CSIVolumeHealth": true}},
			{Name: "no service accounts", Share: 1, Set: map[string]bool{
				"KubeletServiceAccountTokenForCredentialProviders": false, "PodCertificateRequest": false,
			}},
			{Name: "no trust bundles, no credential providers", Share: 1, Set: map[string]bool{
				"ClusterTrustBundle": false, "KubeletServiceAccountTokenForCredentialProviders": false,
			}},
		},
		Prepare: setGates,
		Worker: func(*testing.T, harness.Gates) func(uint64, harness.Counts) string {
			return askAboutCluster
		},
	}.Run(t)
}

func setGates(t *testing.T, gates harness.Gates) {
	t.Helper()
	set := map[featuregate.Feature]bool{}
	for name, on := range gates.Set {
		set[featuregate.Feature(name)] = on
	}
	featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, set)
}

// askAboutCluster creates the cluster of a seed, and makes requests after every step.
func askAboutCluster(seed uint64, counts harness.Counts) (wrong string) {
	g := generator.New(harness.Seeded(seed))
	g.Breaks, g.Unlawful = seed%4 == 0, seed%8 == 1
	run := run{generator: g, pair: newPair(), counts: counts, name: fmt.Sprintf("seed %d", seed)}
	if seed%64 == 2 {
		run.apply(g.ManyConsumers()...)
	}
	for range stepsPerCluster {
		run.apply(g.Step())
		for range requestsPerStep {
			if wrong := run.ask(); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// run is one cluster with its past events.
type run struct {
	generator *generator.Generator
	pair      *pair
	counts    harness.Counts
	name      string
	steps     []generator.Step
}

func (r *run) apply(steps ...generator.Step) {
	r.steps = append(r.steps, steps...)
	for _, step := range steps {
		r.pair.apply(step)
	}
}

// ask makes one random request. It returns a short example if the answers disagree.
func (r *run) ask() (wrong string) {
	request := r.generator.Request()
	if r.pair.compare(&request, r.counts) == "" {
		return ""
	}
	return example{r.name, r.steps, request}.shrunk().String()
}

// FuzzAgainstUpstream uses the fuzzer's bytes to choose the cluster, the events and the requests.
func FuzzAgainstUpstream(f *testing.F) {
	harness.AddSeeds(f)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		g := generator.New(harness.FromBytes(bytes))
		g.Breaks, g.Unlawful = g.OneIn(4), g.OneIn(16)
		run := run{generator: g, pair: newPair(), counts: harness.Counts{}, name: "fuzzed"}
		if g.OneIn(64) {
			run.apply(g.ManyConsumers()...)
		}
		for range g.IntN(12) {
			run.apply(g.Step())
			for range 1 + g.IntN(4) {
				if wrong := run.ask(); wrong != "" {
					t.Fatal(wrong)
				}
			}
		}
	})
}

func TestDifferencesAreDocumented(t *testing.T) {
	var all []harness.Documented
	for _, d := range differences {
		all = append(all, d.Documented)
	}
	harness.CheckDocumented(t, "", all)
}
