// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package againstupstream

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/world"
)

const (
	stepsPerWorld   = 60
	requestsPerStep = 20
)

// gates are settings of the feature gates that change a decision. Most requests
// are asked with the defaults.
var gates = []struct {
	name  string
	share int
	set   map[featuregate.Feature]bool
}{
	{"defaults", 7, nil},
	{"CSIVolumeHealth", 1, map[featuregate.Feature]bool{features.CSIVolumeHealth: true}},
	{"no service accounts", 1, map[featuregate.Feature]bool{
		features.KubeletServiceAccountTokenForCredentialProviders: false, features.PodCertificateRequest: false,
	}},
	{"no trust bundles, no credential providers", 1, map[featuregate.Feature]bool{
		features.ClusterTrustBundle: false, features.KubeletServiceAccountTokenForCredentialProviders: false,
	}},
}

// TestAgainstUpstream sends random worlds through both authorizers and asks them
// the same random questions. They must agree, but for the known differences.
// BULKHEAD_DIFF_REQUESTS sets how many are asked, and BULKHEAD_DIFF_SEED the seed
// of the first world.
func TestAgainstUpstream(t *testing.T) {
	total := fromEnvironment(t, "BULKHEAD_DIFF_REQUESTS", 1_000_000)
	seed := fromEnvironment(t, "BULKHEAD_DIFF_SEED", 1)
	counts, asked, start := map[string]int{}, 0, time.Now()
	for _, g := range gates {
		if t.Failed() {
			break
		}
		t.Run(g.name, func(t *testing.T) {
			setGates(t, g.set)
			for target := asked + (total*g.share+9)/10; asked < target && !t.Failed(); seed++ {
				asked += runWorld(t, uint64(seed), counts)
			}
		})
	}
	fmt.Printf("asked both %d requests in %v\n%s", asked, time.Since(start).Round(time.Millisecond), listed(counts))
	if asked < total && !t.Failed() {
		t.Errorf("asked %d requests, want %d", asked, total)
	}
}

func setGates(t *testing.T, set map[featuregate.Feature]bool) {
	t.Helper()
	featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, set)
}

// runWorld makes the world of a seed and asks about it after every step. It
// returns the number of requests.
func runWorld(t *testing.T, seed uint64, counts map[string]int) (asked int) {
	t.Helper()
	m := world.NewMaker(world.Seeded(seed))
	m.Breaks, m.Unlawful = seed%4 == 0, seed%8 == 1
	run := run{m: m, pair: newPair(), counts: counts, name: fmt.Sprintf("seed %d", seed)}
	if seed%64 == 2 {
		run.apply(m.Crowd()...)
	}
	for range stepsPerWorld {
		run.apply(m.Step())
		for range requestsPerStep {
			asked++
			if !run.ask() {
				t.Errorf("request %d of seed %d: %v", asked, seed, run.failure)
				return asked
			}
		}
	}
	return asked
}

// run is one world on its way.
type run struct {
	m       *world.Maker
	pair    *pair
	counts  map[string]int
	name    string
	steps   []world.Step
	failure example
}

func (r *run) apply(steps ...world.Step) {
	r.steps = append(r.steps, steps...)
	for _, step := range steps {
		r.pair.apply(step)
	}
}

// ask reports whether both agree on a random request.
func (r *run) ask() bool {
	request := r.m.Request()
	if r.pair.compare(&request, r.counts) == "" {
		return true
	}
	r.failure = example{r.name, r.steps, request}.shrunk()
	return false
}

// FuzzAgainstUpstream lets the bytes make the world, what happens and what is
// asked.
func FuzzAgainstUpstream(f *testing.F) {
	for seed := range 16 {
		d := world.Seeded(uint64(seed))
		bytes := make([]byte, 64<<(seed%4))
		for i := range bytes {
			bytes[i] = byte(d.IntN(256))
		}
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		m := world.NewMaker(world.FromBytes(bytes))
		m.Breaks, m.Unlawful = m.OneIn(4), m.OneIn(16)
		run := run{m: m, pair: newPair(), counts: map[string]int{}, name: "fuzzed"}
		if m.OneIn(64) {
			run.apply(m.Crowd()...)
		}
		for range m.IntN(12) {
			run.apply(m.Step())
			for range 1 + m.IntN(4) {
				if !run.ask() {
					t.Fatal(run.failure)
				}
			}
		}
	})
}

func fromEnvironment(t *testing.T, name string, fallback int) int {
	t.Helper()
	text, set := os.LookupEnv(name)
	if !set {
		return fallback
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 {
		t.Fatalf("%s=%q is not a number", name, text)
	}
	return number
}

// listed is a table of what was counted.
func listed(counts map[string]int) string {
	var lines []string
	for name, n := range counts {
		lines = append(lines, fmt.Sprintf("%12d %s\n", n, name))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
