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

const (
	enableFlag = "    - --enable-admission-plugins=NodeRestriction\n"
	otherHead  = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	otherText  = otherHead + "- name: PodSecurity\n  configuration:\n    defaults: {enforce: baseline}\n"
)

// otherAdmission gives kube-apiserver an AdmissionConfiguration that is not Bulkhead's. The file is on
// a volume that has another path on the host.
func (h *testHost) otherAdmission(text string) (file string) {
	h.t.Helper()
	file = filepath.Join(filepath.Dir(h.layout.State), "other.yaml")
	must(h.t, os.WriteFile(file, []byte(text), 0o600))
	h.original = []byte(strings.NewReplacer(
		enableFlag, enableFlag+"    - --admission-control-config-file=/inside/other.yaml\n",
		"    volumeMounts:\n", "    volumeMounts:\n    - {name: other, mountPath: /inside, readOnly: true}\n",
		"  volumes:\n", "  volumes:\n  - {name: other, hostPath: {path: '"+filepath.Dir(file)+"'}}\n",
	).Replace(string(h.original)))
	if bytes.Count(h.original, []byte("/inside")) != 2 || bytes.Count(h.original, []byte("name: other")) != 2 {
		h.t.Fatalf("the manifest is\n%s", h.original)
	}
	must(h.t, os.WriteFile(h.layout.APIServerManifest(), h.original, 0o600))
	h.kubeadm = strings.Replace(h.kubeadm, "apiServer: {}\n", "apiServer:\n  extraArgs:\n  - name: "+
		"admission-control-config-file\n    value: /inside/other.yaml\n", 1)
	return file
}

// keeps checks that kube-apiserver has Bulkhead's plugin and those texts of the other file.
func (h *testHost) keeps(texts ...string) {
	h.t.Helper()
	config := string(read(h.t, h.layout.AdmissionConfig()))
	for _, text := range append(texts, "ValidatingAdmissionWebhook", h.layout.APIServer()) {
		if !strings.Contains(config, text) {
			h.t.Errorf("it does not have %s:\n%s", text, config)
		}
	}
	if !h.server().AdmissionWired(h.layout.AdmissionConfig()) {
		h.t.Errorf("kube-apiserver does not read it:\n%s", h.manifest)
	}
}

func TestOtherAdmissionPluginsAreKept(t *testing.T) {
	for _, profile := range []Profile{Hardened, Parity} {
		onHost(t, string(profile)+": installed twice, uninstalled", func(t *testing.T, h *testHost) {
			h.otherAdmission(otherText)
			before := h.snapshot()
			must(t, h.installer().Install(t.Context(), options(profile)))
			h.keeps("PodSecurity", "enforce: baseline")
			if h.fromDisk() == "" {
				t.Error("kube-apiserver has no webhook from disk")
			}
			first := h.snapshot()
			must(t, h.installer().Install(t.Context(), options(profile)))
			h.mustBe(first)
			must(t, h.installer().Uninstall(t.Context(), options(profile).Timeout))
			h.mustBe(before)
		})
	}
	onHost(t, "a profile switch, then an upgrade, then uninstalled", func(t *testing.T, h *testHost) {
		h.otherAdmission(otherText)
		must(t, h.installer().Install(t.Context(), options(Parity)))
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.upgrade("v1.37.1", "v1.37.2")
		h.keeps("PodSecurity")
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		want := bytes.ReplaceAll(h.original, []byte("v1.37.1"), []byte("v1.37.2"))
		now := read(t, h.layout.APIServerManifest())
		if same, err := apiserver.Equal(want, now); err != nil || !same {
			t.Errorf("what comes back is another object (%v):\n%s", err, now)
		}
	})
	onHost(t, "a failed installation is rolled back", func(t *testing.T, h *testHost) {
		h.otherAdmission(otherText)
		before := h.snapshot()
		h.broken["node-restriction"] = true
		mentions(t, h.installer().Install(t.Context(), options(Hardened)), "rolled back")
		h.mustBe(before)
	})
}

func TestChangeOfTheOtherAdmissionFile(t *testing.T) {
	onHost(t, "the next installation takes it", func(t *testing.T, h *testHost) {
		file := h.otherAdmission(otherText)
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.reports("Bulkhead's file includes the plugins of /inside/other.yaml")
		must(t, os.WriteFile(file, []byte(strings.Replace(otherText, "baseline", "restricted", 1)), 0o600))
		h.reports("/inside/other.yaml was changed and is not in force")
		starts := h.starts
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.keeps("PodSecurity", "enforce: restricted")
		h.reports("Bulkhead's file includes the plugins of /inside/other.yaml")
		if h.starts != starts+1 {
			t.Errorf("kube-apiserver was restarted %d times", h.starts-starts)
		}
	})
	onHost(t, "its name instead of Bulkhead's: the next installation takes it", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.otherAdmission(otherText) // the original, as it is to be after the uninstallation
		replaced := func(text []byte) string {
			return strings.ReplaceAll(string(text), h.layout.AdmissionConfig(), "/inside/other.yaml")
		}
		wired, err := apiserver.Wire(h.original, wiring(h.layout, Record{Profile: Hardened}, nil, nil),
			apiserver.KubeadmDefault)
		must(t, err)
		must(t, os.WriteFile(h.layout.APIServerManifest(), []byte(replaced(wired)), 0o600))
		h.kubeadm = replaced([]byte(h.kubeadm))
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.keeps("PodSecurity")
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		now := read(t, h.layout.APIServerManifest())
		if same, err := apiserver.Equal(h.original, now); err != nil || !same {
			t.Errorf("what comes back is another object (%v):\n%s", err, now)
		}
		want := strings.Replace(kubeadmText, "apiServer: {}\n", "apiServer:\n  extraArgs:\n  - name: "+
			"admission-control-config-file\n    value: /inside/other.yaml\n", 1)
		if h.kubeadm != want {
			t.Errorf("kubeadm-config is\n%s\nwant\n%s", h.kubeadm, want)
		}
	})
	onHost(t, "a missing one is an error, and changes nothing", func(t *testing.T, h *testHost) {
		file := h.otherAdmission(otherText)
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		must(t, os.Remove(file))
		h.reports("that cannot be read")
		before := h.snapshot()
		mentions(t, h.installer().Install(t.Context(), options(Hardened)), "Restore the file")
		h.mustBe(before)
	})
	onHost(t, "one without plugins gives them up", func(t *testing.T, h *testHost) {
		file := h.otherAdmission(otherText)
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		must(t, os.WriteFile(file, []byte(otherHead), 0o600))
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		if config := read(t, h.layout.AdmissionConfig()); bytes.Contains(config, []byte("PodSecurity")) {
			t.Errorf("it has:\n%s", config)
		}
	})
	onHost(t, "one with a plugin of Bulkhead is an error, and changes nothing", func(t *testing.T, h *testHost) {
		h.otherAdmission(otherHead + "- {name: ValidatingAdmissionWebhook}\n")
		before := h.snapshot()
		mentions(t, h.installer().Install(t.Context(), options(Hardened)),
			"cannot keep the plugin ValidatingAdmissionWebhook")
		h.mustBe(before)
	})
}

// reports checks what `bulkhead status` says.
func (h *testHost) reports(text string) {
	h.t.Helper()
	record, err := ReadRecord(h.layout)
	must(h.t, err)
	h.kubelet()
	if got := record.OtherPlugins(h.layout, h.server()); !strings.Contains(got, text) {
		h.t.Errorf("it says %q, want %q", got, text)
	}
}

// TestOtherAdmissionWithoutARecord: the flag comes back from what is left.
func TestOtherAdmissionWithoutARecord(t *testing.T) {
	for _, tc := range []struct {
		name string
		lose func(*testHost) error
	}{
		{"the saved manifest is left", func(h *testHost) error { return os.Remove(h.layout.Record()) }},
		{"only the entry of the host is left", func(h *testHost) error { return os.RemoveAll(h.layout.Records()) }},
	} {
		for _, again := range []bool{false, true} {
			name := tc.name
			if again {
				name += ", and an installation since"
			}
			onHost(t, name, func(t *testing.T, h *testHost) {
				h.otherAdmission(otherText)
				kubeadm := h.kubeadm
				must(t, h.installer().Install(t.Context(), options(Hardened)))
				must(t, tc.lose(h))
				if again {
					must(t, h.installer().Install(t.Context(), options(Hardened)))
					h.keeps("PodSecurity")
				}
				must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
				now := read(t, h.layout.APIServerManifest())
				if same, err := apiserver.Equal(h.original, now); err != nil || !same {
					t.Errorf("what comes back is another object (%v):\n%s", err, now)
				}
				if !strings.Contains(h.kubeadm, "/inside/other.yaml") || strings.Contains(h.kubeadm, "bulkhead") {
					t.Errorf("kubeadm-config is\n%s\nwant\n%s", h.kubeadm, kubeadm)
				}
			})
		}
	}
}

func TestOtherAdmissionOfAHostThatJoins(t *testing.T) {
	for _, prepared := range []bool{true, false} {
		name := "prepared without the file"
		if prepared {
			name = "prepared with the file"
		}
		onHosts(t, name, 2, func(t *testing.T, all []*testHost) {
			first, joining := all[0], all[1]
			first.on().otherAdmission(otherText)
			file := joining.on().otherAdmission(otherText)
			joining.members = all[:1]
			must(t, first.install(options(Hardened)))
			joining.on()
			must(t, os.Remove(joining.layout.APIServerManifest()))
			o := options(Hardened)
			if prepared {
				o.AdmissionConfigFile = file
			}
			must(t, joining.installer().Prepare(t.Context(), o))
			if has := bytes.Contains(read(t, joining.layout.AdmissionConfig()), []byte("PodSecurity")); has != prepared {
				t.Errorf("after prepare, the admission file has PodSecurity: %t", has)
			}
			joining.join()
			joining.members = all
			must(t, joining.install(options(Hardened)))
			joining.keeps("PodSecurity")
			must(t, joining.uninstall())
			now := read(t, joining.layout.APIServerManifest())
			if same, err := apiserver.Equal(joining.original, now); err != nil || !same {
				t.Errorf("what comes back is another object (%v):\n%s", err, now)
			}
			if !strings.Contains(joining.kubeadm, "/inside/other.yaml") {
				t.Errorf("kubeadm-config is\n%s", joining.kubeadm)
			}
		})
	}
}
