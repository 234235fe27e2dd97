// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
)

func TestUninstallKeepsForeignChanges(t *testing.T) {
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
		must(t, os.RemoveAll(h.layout.Records()))
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		now := read(t, h.layout.APIServerManifest())
		if same, err := apiserver.Equal(h.original, now); err != nil || !same {
			t.Errorf("what comes back is another object (%v):\n%s", err, now)
		}
	})
}

func TestUninstallChangesNothingWhereNothingIsInstalled(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(*testing.T, *testHost)
	}{
		{"in a cluster without Bulkhead", func(*testing.T, *testHost) {}},
		{"in a cluster that others use", func(t *testing.T, h *testHost) {
			other := newTestHost(t)
			must(t, other.installer().Install(t.Context(), options(Hardened)))
			h.objects, h.kubeadm = other.objects, other.kubeadm
		}},
		{"with a foreign authorization file", func(t *testing.T, h *testHost) {
			h.otherConfig()
		}},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			tc.prepare(t, h)
			before := h.snapshot()
			must(t, h.installer().Install(t.Context(), options(InTree)))
			h.mustBe(before)
			if !strings.Contains(h.out.String(), "Nothing had to be changed") {
				t.Errorf("it says:\n%s", &h.out)
			}
		})
	}
}

// otherConfig makes kube-apiserver use an authorization file that does not belong to Bulkhead.
func (h *testHost) otherConfig() {
	h.t.Helper()
	file := h.layout.APIServerManifest()
	theirs := strings.NewReplacer("--authorization-mode=Node,RBAC", "--authorization-config=/theirs.yaml",
		"--authorization-config="+h.layout.AuthorizationConfig(),
		"--authorization-config=/theirs.yaml").Replace(string(read(h.t, file)))
	must(h.t, os.WriteFile(file, []byte(theirs), 0o600))
}

func TestUninstallKeepsObjectsThatAnotherHostNeeds(t *testing.T) {
	onHost(t, "first of two, then last", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.others = []string{"cp-1"}
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		if len(h.objects) != objectCount(t) || h.kubeadm != kubeadmText {
			t.Errorf("left are %v and\n%s", h.objects, h.kubeadm)
		}
		if got := h.out.String(); strings.Count(got, "runs on cp-1 too") != 2 {
			t.Errorf("it does not say so:\n%s", got)
		}
		if got := read(t, h.layout.APIServerManifest()); !bytes.Equal(got, h.original) {
			t.Errorf("the manifest is:\n%s", got)
		}
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.others = nil
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		h.mustBe(before)
	})
}

func TestUninstallWithLostOrForeignFiles(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*testing.T, *testHost)
		// back is true if exactly the old object is restored.
		back bool
	}{
		{"with record and original lost and an installation since", func(t *testing.T, h *testHost) {
			must(t, os.RemoveAll(h.layout.Records()))
			must(t, h.installer().Install(t.Context(), options(Hardened)))
		}, true},
		{"with the original lost and an installation since", func(t *testing.T, h *testHost) {
			must(t, os.Remove(h.layout.OriginalManifest()))
			must(t, h.installer().Install(t.Context(), options(Hardened)))
		}, true},
		{"with a saved original that contains Bulkhead", func(t *testing.T, h *testHost) {
			must(t, os.WriteFile(h.layout.OriginalManifest(), read(t, h.layout.APIServerManifest()), 0o600))
			record, err := ReadRecord(h.layout)
			must(t, err)
			record.APIServer.Drifted = true
			data, err := record.encode()
			must(t, err)
			must(t, os.WriteFile(h.layout.Record(), data, 0o600))
		}, true},
		{"with the temporary file of a killed run", func(t *testing.T, h *testHost) {
			must(t, os.WriteFile(filepath.Join(h.layout.State, ".bulkhead-123"), nil, 0o600))
		}, true},
		{"with a foreign authorization file", func(_ *testing.T, h *testHost) { h.otherConfig() }, false},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			must(t, h.installer().Install(t.Context(), options(Hardened)))
			tc.spoil(t, h)
			must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
			now := read(t, h.layout.APIServerManifest())
			if same, err := apiserver.Equal(h.original, now); err != nil || same != tc.back ||
				bytes.Contains(now, []byte("bulkhead")) {
				t.Errorf("what comes back (%v):\n%s", err, now)
			}
			if _, err := os.Stat(h.layout.State); !os.IsNotExist(err) {
				t.Errorf("%s: %v", h.layout.State, err)
			}
		})
	}
}

func TestUninstallKeepsForeignFiles(t *testing.T) {
	onHost(t, "a note of the administrator", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		note := filepath.Join(h.layout.State, "note")
		must(t, os.WriteFile(note, nil, 0o600))
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		entries, err := os.ReadDir(h.layout.State)
		must(t, err)
		if len(entries) != 1 || entries[0].Name() != "note" || !strings.Contains(h.out.String(), "does not own") {
			t.Errorf("left are %v; it says:\n%s", entries, &h.out)
		}
		h.out.Reset()
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		if !strings.Contains(h.out.String(), "Nothing had to be changed") {
			t.Errorf("the second time it says:\n%s", &h.out)
		}
	})
}

// TestSavedManifestIsNeverOlderThanTheCluster protects a user who copies the saved manifest by hand.
func TestSavedManifestIsNeverOlderThanTheCluster(t *testing.T) {
	onHost(t, "after an upgrade and an installation", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.upgrade("v1.37.1", "v1.37.2")
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		saved := read(t, h.layout.OriginalManifest())
		want := bytes.ReplaceAll(h.original, []byte("v1.37.1"), []byte("v1.37.2"))
		if same, err := apiserver.Equal(want, saved); err != nil || !same {
			t.Errorf("saved is (%v):\n%s", err, saved)
		}
		first := h.snapshot()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.mustBe(first)
	})
}

// The kubelet creates the directory of kubelet-auth-proxy for its pod, also on a node that is not
// guarded.
func TestUninstallSaysWhyTheStateDirectoryStays(t *testing.T) {
	for name, tc := range map[string]struct {
		left func(*testHost) string
		says string
	}{
		"directory of an idle proxy": {func(h *testHost) string { return h.layout.KubeletProxy() },
			"the kubelet has created a directory in it"},
		"files of a guarded node": {func(h *testHost) string { return h.layout.Node() }, "Run `bulkhead node uninstall` too"},
		"files of somebody else": {func(h *testHost) string { return h.layout.State + "/own" },
			"Bulkhead does not own all files in it"},
	} {
		onHost(t, name, func(t *testing.T, h *testHost) {
			must(t, h.installer().Install(t.Context(), options(Hardened)))
			must(t, os.MkdirAll(tc.left(h), 0o755))
			must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
			if !strings.Contains(h.out.String(), tc.says) {
				t.Errorf("the output lacks %q:\n%s", tc.says, &h.out)
			}
		})
	}
}
