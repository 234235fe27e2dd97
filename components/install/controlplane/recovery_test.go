// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// kill runs an installation and stops it after n steps, as kill -9 would.
func (h *testHost) kill(o Options, n int) {
	h.t.Helper()
	p := h.begin(o)
	for _, s := range p.steps()[:n] {
		_, err := p.Run(h.t.Context(), s)
		must(h.t, err)
	}
}

// upgrade simulates `kubeadm upgrade` to another version.
func (h *testHost) upgrade(from, to string) {
	h.t.Helper()
	file := h.layout.APIServerManifest()
	must(h.t, os.WriteFile(file, bytes.ReplaceAll(read(h.t, file), []byte(from), []byte(to)), 0o600))
	h.kubeadm = strings.ReplaceAll(h.kubeadm, from, to)
}

func TestRecoveryKeepsLaterChanges(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(*testing.T, *testHost)
		after   func(*testing.T, *testHost)
		wired   bool
	}{
		{"when uninstall finds the journal", everyStart[0].prepare, func(t *testing.T, h *testHost) {
			must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		}, false},
		{"when an installation finds it", everyStart[0].prepare, func(t *testing.T, h *testHost) {
			must(t, h.installer().Install(t.Context(), options(Hardened)))
		}, true},
		{"when Bulkhead was already installed", everyStart[1].prepare, func(t *testing.T, h *testHost) {
			must(t, h.installer().transaction(options(Hardened).Timeout).Recover(t.Context()))
		}, true},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			tc.prepare(t, h)
			h.kill(options(Hardened), stepCount-1)
			h.upgrade("v1.37.1", "v1.37.9")
			tc.after(t, h)
			for _, text := range []string{h.kubeadm, string(read(t, h.layout.APIServerManifest()))} {
				if !strings.Contains(text, "v1.37.9") || strings.Contains(text, "v1.37.1") ||
					strings.Contains(text, "bulkhead") != tc.wired {
					t.Errorf("what is left is:\n%s", text)
				}
			}
			if !strings.Contains(h.out.String(), "changed since then") {
				t.Errorf("it does not say so:\n%s", &h.out)
			}
		})
	}
}

func TestRecoveryReplacesAnUnreadableManifest(t *testing.T) {
	onHost(t, "junk", func(t *testing.T, h *testHost) {
		h.kill(options(Hardened), stepCount-1)
		must(t, os.WriteFile(h.layout.APIServerManifest(), []byte("{"), 0o600))
		must(t, h.installer().transaction(options(Hardened).Timeout).Recover(t.Context()))
		if got := read(t, h.layout.APIServerManifest()); !bytes.Equal(got, h.original) {
			t.Errorf("it is:\n%s", got)
		}
	})
}

func TestRecoveryKeepsObjectsThatAnotherHostNeeds(t *testing.T) {
	onHost(t, "a second control-plane node", func(t *testing.T, h *testHost) {
		h.kill(options(Hardened), stepCount-1)
		h.others = []string{"cp-1"}
		must(t, h.installer().transaction(options(Hardened).Timeout).Recover(t.Context()))
		// This host loses the files, so kubeadm must not name them, whatever the other host has.
		if len(h.objects) != objectCount(t) || h.kubeadm != kubeadmText {
			t.Errorf("left are %v and\n%s", h.objects, h.kubeadm)
		}
	})
}

const roleName = "ClusterRole/bulkhead:node-authorizer"

// grow adds a right to the role that the manifest does not have.
func (h *testHost) grow(rule string) {
	h.t.Helper()
	must(h.t, unstructured.SetNestedSlice(h.objects[roleName].Object, []any{map[string]any{"resources": []any{rule}}},
		"rules"))
}

func TestAnUpgradeBringsItsRBAC(t *testing.T) {
	onHost(t, "over a role from another version", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		after := h.snapshot()
		h.grow("old")
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.mustBe(after)
	})
}

func TestFailedUpgradeRollsBackRBAC(t *testing.T) {
	onHost(t, "a role from another version", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.grow("old")
		before := h.snapshot()
		h.broken["node-authorizer"] = true
		o := options(Hardened)
		o.Image = "example.test/bulkhead:2"
		if err := h.installer().Install(t.Context(), o); err == nil {
			t.Error("it succeeds")
		}
		h.mustBe(before)
	})
	onHost(t, "but not what somebody else wrote later", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.grow("old")
		h.kill(options(Hardened), stepCount-1)
		h.grow("later")
		before := h.snapshot()[roleName]
		must(t, h.installer().transaction(options(Hardened).Timeout).Recover(t.Context()))
		if got := h.snapshot()[roleName]; got != before {
			t.Errorf("the role is %s", got)
		}
	})
}

// TestRollbackNamesTheFileThatHelps: the message ends with the path of an existing file.
func TestRollbackNamesTheFileThatHelps(t *testing.T) {
	onHost(t, "a rollback that fails too", func(t *testing.T, h *testHost) {
		h.kill(options(Hardened), stepCount-1)
		j, err := journal.Open(h.layout.Journal())
		must(t, err)
		for _, e := range j.Entries {
			if e.Name == h.layout.APIServerManifest() {
				must(t, os.Remove(filepath.Join(h.layout.Journal(), e.Backup)))
			}
		}
		fails := engine.Wait("fail", func(context.Context) error { return os.ErrDeadlineExceeded })
		_, err = h.installer().transaction(options(Hardened).Timeout).Apply(t.Context(), j, []engine.Step{fails})
		if err == nil || !strings.Contains(err.Error(), h.layout.OriginalManifest()) ||
			!bytes.Equal(read(t, h.layout.OriginalManifest()), h.original) {
			t.Errorf("error is %v", err)
		}
	})
}

// A record that was not written completely changes nothing. The message says how to go on.
func TestATruncatedRecordIsReplaced(t *testing.T) {
	onHost(t, "after the user has moved it away", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		whole := read(t, h.layout.Record())
		must(t, os.WriteFile(h.layout.Record(), whole[:len(whole)/2], 0o600))
		before := h.snapshot()
		for _, err := range []error{
			h.installer().Install(t.Context(), options(Parity)), h.installer().Uninstall(t.Context(), options(Hardened).Timeout),
		} {
			mentions(t, err, h.layout.Record())
			mentions(t, err, "Move the file away")
			h.mustBe(before)
		}
		must(t, os.Remove(h.layout.Record()))
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		// Without the record, kubeadm-config may lose an empty field that it had.
		if manifest := read(t, h.layout.APIServerManifest()); !bytes.Equal(manifest, h.original) ||
			strings.Contains(h.kubeadm, "bulkhead") {
			t.Errorf("kube-apiserver's manifest:\n%s\nkubeadm-config:\n%s", manifest, h.kubeadm)
		}
	})
}

// A journal that was not written completely changes nothing. The advice in the message works after every
// step of the interrupted run.
func TestUninstallWithoutATruncatedJournal(t *testing.T) {
	for _, start := range everyStart {
		for n := range stepCount {
			onHostInParallel(t, fmt.Sprintf("%s, killed after step %d", start.name, n), func(t *testing.T, h *testHost) {
				start.prepare(t, h)
				h.kill(options(Hardened), n)
				index := filepath.Join(h.layout.Journal(), "journal.json")
				must(t, os.WriteFile(index, read(t, index)[:20], 0o600))
				before := h.snapshot()
				for _, err := range []error{
					h.installer().Install(t.Context(), options(Hardened)),
					h.installer().Uninstall(t.Context(), options(Hardened).Timeout),
				} {
					mentions(t, err, "Move the directory "+h.layout.Journal()+" away, then run `bulkhead uninstall`")
					h.mustBe(before)
				}
				must(t, os.Rename(h.layout.Journal(), filepath.Join(t.TempDir(), "journal")))
				must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
				now := read(t, h.layout.APIServerManifest())
				if same, err := apiserver.Equal(h.original, now); err != nil || !same || strings.Contains(h.kubeadm, "bulkhead") ||
					len(h.objects) > 0 {
					t.Errorf("error %v; left are %d objects, kube-apiserver's manifest:\n%s\nkubeadm-config:\n%s", err, len(h.objects),
						now, h.kubeadm)
				}
				if _, err := os.Stat(h.layout.State); !os.IsNotExist(err) {
					t.Errorf("%s: %v", h.layout.State, err)
				}
			})
		}
	}
}
