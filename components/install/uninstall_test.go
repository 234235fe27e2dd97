// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
)

func TestUninstallKeepsWhatSomebodyElseChanged(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after func(*testing.T, *testHost)
	}{
		{"right after the change", func(*testing.T, *testHost) {}},
		{"after two installations in between", func(t *testing.T, h *testHost) {
			must(t, h.installer().Install(t.Context(), options(Parity)))
			must(t, h.installer().Install(t.Context(), options(Hardened)))
		}},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			must(t, h.installer().Install(t.Context(), options(Hardened)))
			file := h.layout.APIServerManifest()
			upgraded, err := os.ReadFile(file)
			must(t, err)
			must(t, os.WriteFile(file, bytes.ReplaceAll(upgraded, []byte("v1.37.1"), []byte("v1.37.2")), 0o600))
			h.kubeadm = strings.ReplaceAll(h.kubeadm, "v1.37.1", "v1.37.2")
			tc.after(t, h)
			must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
			for _, text := range []string{h.kubeadm, string(read(t, file))} {
				if !strings.Contains(text, "v1.37.2") || strings.Contains(text, "bulkhead") {
					t.Errorf("what is left is:\n%s", text)
				}
			}
		})
	}
}

func TestUninstallWorksWithTheRecordLost(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		must(t, os.RemoveAll(h.layout.state()))
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		now := read(t, h.layout.APIServerManifest())
		if same, err := apiserver.Equal(h.original, now); err != nil || !same {
			t.Errorf("what comes back is another object (%v):\n%s", err, now)
		}
	})
}
