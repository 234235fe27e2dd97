// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

func TestOtherAdmissionIsAddedOnAllHosts(t *testing.T) {
	onHosts(t, "the last host is uninstalled first: kubeadm-config has the file again", 2,
		func(t *testing.T, all []*testHost) {
			for _, h := range all {
				must(t, h.install(options(Hardened)))
			}
			wired := all[0].kubeadm
			for _, h := range all {
				h.kubeadm = wired
				h.on().replaceAdmissionFile()
			}
			for _, h := range all {
				must(t, h.install(options(Hardened)))
			}
			if !strings.Contains(all[0].kubeadm, all[0].layout.AdmissionConfig()) {
				t.Fatalf("kubeadm-config is\n%s", all[0].kubeadm)
			}
			must(t, all[1].uninstall())
			if all[0].kubeadm != kubeadmWithOther {
				t.Errorf("kubeadm-config is\n%s\nwant\n%s", all[0].kubeadm, kubeadmWithOther)
			}
		})
}

func TestStaleEntryHasTheOtherAdmissionFile(t *testing.T) {
	onHosts(t, "kubeadm-config has the file again", 1, func(t *testing.T, all []*testHost) {
		h := all[0].on()
		h.otherAdmission(otherText)
		must(t, h.install(options(Hardened)))
		must(t, os.RemoveAll(h.layout.State))
		for _, manifest := range h.layout.ComponentManifests() {
			must(t, os.RemoveAll(manifest))
		}
		must(t, os.WriteFile(h.layout.APIServerManifest(), h.original, 0o600))
		h.kubelet()
		must(t, h.uninstall())
		if h.kubeadm != kubeadmWithOther || len(h.entries()) > 0 {
			t.Errorf("entries: %v, kubeadm-config is\n%s\nwant\n%s", h.entries(), h.kubeadm, kubeadmWithOther)
		}
	})
}

func TestConfigFileInEntries(t *testing.T) {
	with := func(file string) string {
		text, err := hosts.Host{Version: "v1", Profile: "hardened", Mode: hosts.Enforce, Image: "i", ConfigHash: "h",
			Modes: "m", Wiring: "w", AdmissionConfig: file}.Encode()
		must(t, err)
		return text
	}
	for _, tc := range []struct {
		name       string
		entries    map[string]string
		want, says string
	}{
		{"no entries", nil, "", ""},
		{"no host has one", map[string]string{"cp-1": with(""), "own": with("")}, "", ""},
		{"the own entry counts first", map[string]string{"cp-1": with("/a"), "own": with("/b")}, "/b", ""},
		{"the own entry is from before the join", map[string]string{"cp-1": with("/a"), "own": with("")}, "/a", ""},
		{"an entry that cannot be read, and another one", map[string]string{"cp-1": "{", "cp-2": with("/a")}, "/a", ""},
		{"an entry that cannot be read, and none", map[string]string{"cp-1": "{", "own": with("")}, "",
			"cannot read the entry of host cp-1"},
		{"a relative path", map[string]string{"cp-1": with("a")}, "", "want an absolute path"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := configFileIn(tc.entries, "own")
			if got != tc.want || (err == nil) != (tc.says == "") {
				t.Fatalf("%q, %v", got, err)
			}
			if tc.says != "" {
				mentions(t, err, tc.says)
			}
		})
	}
}

func TestOtherAdmissionIsUnknown(t *testing.T) {
	onHosts(t, "the entry of another host cannot be read: nothing is installed", 2, func(t *testing.T, all []*testHost) {
		must(t, all[0].install(options(Hardened)))
		must(t, all[1].install(options(Hardened)))
		must(t, os.RemoveAll(all[1].layout.Records()))
		_, err := hosts.Update(t.Context(), all[1].configs, func(entries map[string]string) { entries["cp-1"] = "{" })
		must(t, err)
		before := all[1].snapshot()
		mentions(t, all[1].install(options(Hardened)), "cannot find out whether kube-apiserver had an AdmissionConfiguration")
		all[1].mustBe(before)
	})
}

func TestEntryHasACleanPath(t *testing.T) {
	onHosts(t, "the flag has another form of it", 1, func(t *testing.T, all []*testHost) {
		h := all[0].on()
		h.otherAdmission(otherText)
		h.original = bytes.ReplaceAll(h.original, []byte("=/inside/other.yaml"), []byte("=inside//other.yaml"))
		must(t, os.WriteFile(h.layout.APIServerManifest(), h.original, 0o600))
		must(t, h.install(options(Hardened)))
		if got := h.entry("cp-1").AdmissionConfig; got != "/inside/other.yaml" {
			t.Errorf("the entry has %q", got)
		}
	})
}

func TestNoteAboutPrepareHasTheOtherAdmissionFile(t *testing.T) {
	for file, note := range map[string]string{
		"":                   "run `bulkhead prepare` on the new host",
		"/inside/other.yaml": "run `bulkhead prepare --admission-control-config-file=/inside/other.yaml` on the new host",
	} {
		onHost(t, "with the file "+file, func(t *testing.T, h *testHost) {
			if file != "" {
				h.otherAdmission(otherText)
			}
			must(t, h.installer().Install(t.Context(), options(Hardened)))
			h.says(note)
		})
	}
}

func TestStatusOfAnotherAdmissionFileInTheFlag(t *testing.T) {
	onHost(t, "Bulkhead's file is not in force", func(t *testing.T, h *testHost) {
		h.otherAdmission(otherText)
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		wired := string(read(t, h.layout.APIServerManifest()))
		for _, tc := range []struct{ flag, want string }{
			{"--admission-control-config-file=/inside/new.yaml",
				"kube-apiserver reads /inside/new.yaml and not Bulkhead's file"},
			{"--v=2", ""},
		} {
			text := strings.Replace(wired, "--admission-control-config-file="+h.layout.AdmissionConfig(), tc.flag, 1)
			must(t, os.WriteFile(h.layout.APIServerManifest(), []byte(text), 0o600))
			h.kubelet()
			record, err := ReadRecord(h.layout)
			must(t, err)
			got := record.OtherPlugins(h.layout, h.server())
			if !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("%s: it says %q, want %q", tc.flag, got, tc.want)
			}
		}
	})
}
