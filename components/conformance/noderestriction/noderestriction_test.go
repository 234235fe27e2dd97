// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package againstupstream

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/world"
)

const writesPerWorld = 250

// settings are those of the feature gates that change an answer. Most writes are
// asked about with the defaults of 1.37.
var settings = []struct {
	name  string
	share int
	set   map[string]bool
}{
	{"defaults", 7, nil},
	{"CSIVolumeHealth", 1, map[string]bool{"CSIVolumeHealth": true}},
	{"old server", 1, map[string]bool{"PodCertificateRequest": false, "RecoverVolumeExpansionFailure": false}},
	{"insecure", 1, map[string]bool{"ServiceAccountNodeAudienceRestriction": false, "AllowInsecureKubeletCertificateSigningRequests": true}},
}

// TestAgainstUpstream has both sides answer the same random writes. They must agree,
// but for the known differences. BULKHEAD_DIFF_REVIEWS sets how many are asked about,
// and BULKHEAD_DIFF_SEED the seed of the first world.
func TestAgainstUpstream(t *testing.T) {
	total := fromEnvironment(t, "BULKHEAD_DIFF_REVIEWS", 500_000)
	first := fromEnvironment(t, "BULKHEAD_DIFF_SEED", 1)
	counted, start := counts{}, time.Now()
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			counted.merge(runWorlds(t, s.set, first, (total*s.share+9)/10))
		})
		first += total
	}
	fmt.Printf("asked both about %d writes in %v\n%s", counted["reviews"], time.Since(start).Round(time.Millisecond), listed(counted))
	if total >= 500_000 && !t.Failed() {
		counted.checkReach(t)
	}
}

// checkReach holds that each rule refused, all that kubelets write every day was
// admitted, and each known difference occurred: otherwise the writes are not what they should be.
func (n counts) checkReach(t *testing.T) {
	t.Helper()
	for id := range sharedRules {
		if n["refused: "+string(id)] == 0 {
			t.Errorf("%s never refused", id)
		}
	}
	for _, d := range differences {
		if n["known: "+d.name] == 0 {
			t.Errorf("%q never occurred", d.name)
		}
	}
	for _, what := range everyDay {
		if n["admitted: "+what] == 0 {
			t.Errorf("no %s was admitted", what)
		}
	}
}

// runWorlds makes worlds, each from a seed of its own, until enough was asked.
func runWorlds(t *testing.T, set map[string]bool, first, reviews int) counts {
	t.Helper()
	all := counts{}
	var lock sync.Mutex
	var group sync.WaitGroup
	var next atomic.Int64
	worlds := (reviews + writesPerWorld - 1) / writesPerWorld
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			pair, err := sides.NewPair(set)
			if err != nil {
				t.Error(err)
				return
			}
			mine := counts{}
			for i := int(next.Add(1)) - 1; i < worlds && !t.Failed(); i = int(next.Add(1)) - 1 {
				runWorld(t, pair, set, uint64(first+i), mine)
			}
			lock.Lock()
			defer lock.Unlock()
			all.merge(mine)
		})
	}
	group.Wait()
	return all
}

func runWorld(t *testing.T, pair *sides.Pair, set map[string]bool, seed uint64, counted counts) {
	t.Helper()
	m := world.NewMaker(world.Seeded(seed))
	if err := pair.Show(m.World); err != nil {
		t.Error(err)
		return
	}
	for i := range writesPerWorld {
		write := m.Write()
		counted["reviews"]++
		if compare(pair, m.World, write, counted) != "" {
			t.Errorf("seed %d, write %d: %v", seed, i, example{set, m.World, write}.shrunk())
			return
		}
	}
}

// FuzzAgainstUpstream lets the bytes make the world and the writes.
func FuzzAgainstUpstream(f *testing.F) {
	for seed := range uint64(32) {
		d := world.Seeded(seed)
		bytes := make([]byte, 128<<(seed%5))
		for i := range bytes {
			bytes[i] = byte(d.IntN(256))
		}
		f.Add(bytes)
	}
	pair, err := sides.NewPair(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		m := world.NewMaker(world.FromBytes(bytes))
		if err := pair.Show(m.World); err != nil {
			t.Fatal(err)
		}
		for range 1 + m.IntN(8) {
			if write := m.Write(); compare(pair, m.World, write, counts{}) != "" {
				t.Fatal(example{nil, m.World, write}.shrunk())
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
func listed(counted counts) string {
	var lines []string
	for name, n := range counted {
		lines = append(lines, fmt.Sprintf("%12d %s\n", n, name))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[13:], b[13:]) })
	return strings.Join(lines, "")
}
