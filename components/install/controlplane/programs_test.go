// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// programs are the programs of two static pods, and the command lines that they replace.
var programs = []struct{ manifest, command, earlier string }{
	{"bulkhead-certs.yaml", "    - /certificate-rotator\n",
		"    - /bulkhead\n    - certs\n    - renew\n    - --watch\n"},
	{"bulkhead-kubelet-approver.yaml", "    - /kubelet-csr-approver\n",
		"    - /bulkhead\n    - certs\n    - approve\n"},
}

// earlierPrograms writes the static pods as a version before these programs has written them.
func (h *testHost) earlierPrograms() {
	h.t.Helper()
	for _, p := range programs {
		file := filepath.Join(h.layout.Manifests, p.manifest)
		data := read(h.t, file)
		earlier := bytes.Replace(data, []byte(p.command), []byte(p.earlier), 1)
		if bytes.Equal(data, earlier) {
			h.t.Fatalf("%s does not run %q:\n%s", p.manifest, p.command, data)
		}
		must(h.t, os.WriteFile(file, earlier, 0o600))
	}
}

// TestUpgradeReplacesThePrograms checks that an upgrade replaces program and image of a static pod
// in one write. So an old manifest never runs with the new image, which lacks the old subcommands.
func TestUpgradeReplacesThePrograms(t *testing.T) {
	later := options(Hardened)
	later.Image = "example.test/bulkhead:2"
	for name, o := range map[string]Options{"with a new image": later, "with the same image": options(Hardened)} {
		onHost(t, name, func(t *testing.T, h *testHost) {
			must(t, h.installer().Install(t.Context(), o))
			want := h.snapshot()
			must(t, h.installer().Install(t.Context(), options(Hardened)))
			h.earlierPrograms()
			must(t, h.installer().Install(t.Context(), o))
			h.mustBe(want)
		})
	}
}

// TestRollbackRestoresTheEarlierPrograms checks that a failed upgrade restores the old manifests,
// with the old image.
func TestRollbackRestoresTheEarlierPrograms(t *testing.T) {
	onHost(t, "killed before the last step", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.earlierPrograms()
		before := h.snapshot()
		later := options(Hardened)
		later.Image = "example.test/bulkhead:2"
		h.kill(later, stepCount-1)
		for _, p := range programs {
			data := read(t, filepath.Join(h.layout.Manifests, p.manifest))
			if !bytes.Contains(data, []byte(p.command)) || !bytes.Contains(data, []byte(later.Image)) {
				t.Errorf("%s is not upgraded:\n%s", p.manifest, data)
			}
		}
		must(t, h.installer().transaction(later.Timeout).Recover(t.Context()))
		h.mustBe(before)
	})
}
