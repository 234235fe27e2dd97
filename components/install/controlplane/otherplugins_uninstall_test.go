// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
)

// kubeadmWithOther is kubeadm-config with the file of otherAdmission, without Bulkhead.
var kubeadmWithOther = strings.Replace(kubeadmText, "apiServer: {}\n", "apiServer:\n  extraArgs:\n  - name: "+
	"admission-control-config-file\n    value: /inside/other.yaml\n", 1)

// replaceAdmissionFile writes the name of a user's file in place of Bulkhead's, in kube-apiserver's
// manifest and in kubeadm-config. The user's file is the first one. The original is then the manifest
// that an uninstallation must write.
func (h *testHost) replaceAdmissionFile() {
	h.t.Helper()
	wired, kubeadm := read(h.t, h.layout.APIServerManifest()), h.kubeadm
	file := h.otherAdmission(otherText)
	replaced := strings.NewReplacer(h.layout.AdmissionConfig(), "/inside/other.yaml",
		"    volumeMounts:\n", "    volumeMounts:\n    - {name: other, mountPath: /inside, readOnly: true}\n",
		"  volumes:\n", "  volumes:\n  - {name: other, hostPath: {path: '"+filepath.Dir(file)+"'}}\n",
	).Replace(string(wired))
	must(h.t, os.WriteFile(h.layout.APIServerManifest(), []byte(replaced), 0o600))
	h.kubeadm = strings.ReplaceAll(kubeadm, h.layout.AdmissionConfig(), "/inside/other.yaml")
}

// sameFlags checks that a manifest is the original, with the flags in any order.
func (h *testHost) sameFlags(manifest []byte) {
	h.t.Helper()
	want, err := apiserver.Parse(h.original)
	must(h.t, err)
	got, err := apiserver.Parse(manifest)
	must(h.t, err)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want.Args())), slices.Sorted(slices.Values(got.Args()))); diff != "" {
		h.t.Errorf("-want +got:\n%s", diff)
	}
	// The other file is in a temporary directory, whose path may have any name.
	if bytes.Contains(bytes.ReplaceAll(manifest, []byte(os.TempDir()), nil), []byte("bulkhead")) {
		h.t.Errorf("it still has Bulkhead:\n%s", manifest)
	}
}

func TestUserReplacesTheAdmissionFile(t *testing.T) {
	for _, profile := range []Profile{Hardened, Parity} {
		install := func(t *testing.T, h *testHost) {
			t.Helper()
			must(t, h.withKubelets(nil).Install(t.Context(), options(profile)))
		}
		onHost(t, string(profile)+": uninstalled without an installation in between", func(t *testing.T, h *testHost) {
			install(t, h)
			h.replaceAdmissionFile()
			must(t, h.installer().Install(t.Context(), options(InTree)))
			h.sameFlags(read(t, h.layout.APIServerManifest()))
			if diff := cmp.Diff(kubeadmWithOther, h.kubeadm); diff != "" {
				t.Errorf("kubeadm-config: -want +got:\n%s", diff)
			}
		})
		onHost(t, string(profile)+": the next installation saves the manifest without Bulkhead's flags",
			func(t *testing.T, h *testHost) {
				install(t, h)
				h.replaceAdmissionFile()
				install(t, h)
				h.keeps("PodSecurity")
				h.sameFlags(read(t, h.layout.OriginalManifest()))
			})
		onHost(t, string(profile)+": the record is lost before the next installation", func(t *testing.T, h *testHost) {
			install(t, h)
			h.replaceAdmissionFile()
			must(t, os.RemoveAll(h.layout.Records()))
			install(t, h)
			h.keeps("PodSecurity")
			must(t, h.installer().Uninstall(t.Context(), options(profile).Timeout))
			h.sameFlags(read(t, h.layout.APIServerManifest()))
			if diff := cmp.Diff(kubeadmWithOther, h.kubeadm); diff != "" {
				t.Errorf("kubeadm-config: -want +got:\n%s", diff)
			}
		})
	}
}

func TestUninstallReadsTheOtherAdmissionFile(t *testing.T) {
	for _, tc := range []struct {
		name     string
		spoil    func(t *testing.T, h *testHost, file string)
		mentions string
	}{
		{"missing", func(t *testing.T, _ *testHost, file string) { must(t, os.Remove(file)) }, "Restore the file first"},
		{"invalid", func(t *testing.T, _ *testHost, file string) {
			must(t, os.WriteFile(file, []byte(otherHead+"- {name: PodSecurity, pth: a}\n"), 0o600))
		}, "unknown field"},
		{"on no volume", func(t *testing.T, h *testHost, _ string) {
			now := strings.Replace(string(read(t, h.layout.APIServerManifest())), "mountPath: /inside", "mountPath: /outside", 1)
			must(t, os.WriteFile(h.layout.APIServerManifest(), []byte(now), 0o600))
		}, "not on a volume of the host in kube-apiserver's manifest. Add its volume to "},
	} {
		onHost(t, tc.name+": nothing is changed", func(t *testing.T, h *testHost) {
			file := h.otherAdmission(otherText)
			must(t, h.installer().Install(t.Context(), options(Hardened)))
			wired := read(t, h.layout.APIServerManifest())
			tc.spoil(t, h, file)
			before := h.snapshot()
			for _, uninstall := range []Profile{Hardened, InTree} {
				err := h.installer().Uninstall(t.Context(), options(Hardened).Timeout)
				if uninstall == InTree {
					err = h.installer().Install(t.Context(), options(InTree))
				}
				mentions(t, err, "cannot set --admission-control-config-file=/inside/other.yaml again")
				mentions(t, err, tc.mentions)
				h.mustBe(before)
			}
			must(t, os.WriteFile(file, []byte(otherHead+"  []\n"), 0o600))
			must(t, os.WriteFile(h.layout.APIServerManifest(), wired, 0o600))
			must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
			if now := read(t, h.layout.APIServerManifest()); !bytes.Equal(now, h.original) {
				t.Errorf("the manifest is\n%s", now)
			}
		})
	}
	onHost(t, "a plugin that Bulkhead cannot keep does not block", func(t *testing.T, h *testHost) {
		file := h.otherAdmission(otherText)
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		must(t, os.WriteFile(file, []byte(otherHead+"- {name: ValidatingAdmissionWebhook}\n"), 0o600))
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
	})
	onHost(t, "a missing file does not block a rollback", func(t *testing.T, h *testHost) {
		file := h.otherAdmission(otherText)
		before := h.snapshot()
		h.broken["node-authorizer"] = true
		h.said = func(line string) {
			if strings.Contains(line, "run the node authorizer") {
				_ = os.Remove(file)
			}
		}
		mentions(t, h.installer().Install(t.Context(), options(Hardened)), "rolled back")
		if _, err := os.Stat(file); err == nil {
			t.Fatal("the file is not missing")
		}
		must(t, os.WriteFile(file, []byte(otherText), 0o600))
		h.mustBe(before)
	})
}

// An older program does not know the file, and writes a record without it.
func TestOlderProgramForgetsTheOtherAdmissionFile(t *testing.T) {
	onHost(t, "the saved manifest has it", func(t *testing.T, h *testHost) {
		h.otherAdmission(otherText)
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		record, err := ReadRecord(h.layout)
		must(t, err)
		record.AdmissionSource, record.APIServer.Admission.ConfigFile, record.Kubeadm.Admission.ConfigFile = "", "", ""
		data, err := json.Marshal(record)
		must(t, err)
		must(t, os.WriteFile(h.layout.Record(), data, 0o600))
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.keeps("PodSecurity")
		record, err = ReadRecord(h.layout)
		must(t, err)
		for _, edit := range []Edit{record.APIServer, record.Kubeadm} {
			if edit.Admission.ConfigFile != "/inside/other.yaml" {
				t.Errorf("the record has %+v", edit)
			}
		}
	})
}
