// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

// TestAnyOrderOfRuns runs installers on three hosts in a random order. Some fail or are killed. At
// no time does kubeadm-config name a file that a host does not have.
func TestAnyOrderOfRuns(t *testing.T) {
	onHosts(t, "three hosts", 3, func(t *testing.T, all []*testHost) {
		rng := rand.New(rand.NewPCG(22, 1))
		wired := 0
		for range 24 {
			h := all[rng.IntN(len(all))]
			switch profile := []Profile{Hardened, Hardened, Hardened, Parity}[rng.IntN(4)]; rng.IntN(8) {
			case 0:
				must(t, h.uninstall())
			case 1:
				h.on().recover()
				h.kill(options(profile), 1+rng.IntN(stepCount-1))
			case 2:
				h.on().recover()
				p := h.begin(options(profile))
				steps := p.steps()
				steps[rng.IntN(len(steps))].Apply = failing
				_, err := p.transaction(p.Timeout).Apply(t.Context(), p.journal, steps)
				mentions(t, err, "rolled back")
			default:
				must(t, h.install(options(profile)))
			}
			if h.allHave(); h.kubeadmNames() {
				wired++
			}
		}
		if wired == 0 {
			t.Error("kubeadm-config never named Bulkhead's files: the test shows nothing")
		}
		for _, h := range all {
			must(t, h.install(options(Hardened)))
		}
		if !all[0].kubeadmNames() {
			t.Error("all hosts have the same settings, but kubeadm-config does not name Bulkhead's files")
		}
		for _, h := range all {
			must(t, h.uninstall())
			if got := read(t, h.layout.APIServerManifest()); !bytes.Equal(got, h.original) {
				t.Errorf("%s has\n%s", h.name, got)
			}
		}
		if all[0].allHave(); all[0].kubeadmNames() || len(all[0].configs.Names())+len(all[0].leases.Names()) > 0 {
			t.Errorf("left are %v, %v and\n%s", all[0].configs.Names(), all[0].leases.Names(), all[0].kubeadm)
		}
		_, err := hosts.Entries(t.Context(), all[0].configs)
		must(t, err)
	})
}

// recover rolls back a run that was killed.
func (h *testHost) recover() {
	h.t.Helper()
	must(h.t, h.installer().transaction(options(Hardened).Timeout).Recover(h.t.Context()))
}
