// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

// entries returns the entries of all hosts.

func (h *testHost) entries() map[string]string {
	h.t.Helper()
	entries, err := hosts.Entries(h.t.Context(), h.configs)
	must(h.t, err)
	return entries
}

func (h *testHost) entry(node string) hosts.Host {
	h.t.Helper()
	known, unknown := hosts.Parse(h.entries())
	if len(unknown) > 0 {
		h.t.Errorf("unreadable: %v", unknown)
	}
	return known[node]
}

// says checks the output since the last call.

func (h *testHost) says(text string) {
	h.t.Helper()
	if !strings.Contains(h.out.String(), text) {
		h.t.Errorf("%s does not say %q:\n%s", h.name, text, &h.out)
	}
	h.out.Reset()
}

// allHave checks that kubeadm-config names no file that a host does not have, at any time until now.

func (h *testHost) allHave() {
	h.t.Helper()
	if h.checkKubeadm(); h.lost != "" {
		h.t.Errorf("kubeadm-config named files that %s did not have", h.lost)
	}
}

func TestThreeHosts(t *testing.T) {
	for first := range 3 {
		onHosts(t, fmt.Sprintf("installed in order, uninstalled from cp-%d on", first+1), 3, func(t *testing.T,
			all []*testHost) {
			var before []map[string]string
			for _, h := range all {
				before = append(before, h.on().snapshot())
			}
			must(t, all[0].install(options(Hardened)))
			all[0].says("until `bulkhead install` with these settings has run on: cp-2, cp-3")
			must(t, all[1].install(options(Hardened)))
			all[1].says("with these settings has run on: cp-3\n")
			if all[0].kubeadm != kubeadmText {
				t.Errorf("kubeadm-config is edited too early:\n%s", all[0].kubeadm)
			}
			must(t, all[2].install(options(Hardened)))
			all[2].says("kubeadm names Bulkhead's files from now on")
			if !all[0].kubeadmNames() || len(all[0].entries()) != 3 {
				t.Errorf("entries: %v, kubeadm-config is\n%s", all[0].entries(), all[0].kubeadm)
			}
			for i := range 3 {
				h := all[(first+i)%3]
				must(t, h.uninstall())
				if h.kubeadm != kubeadmText || len(h.entries()) != 2-i {
					t.Errorf("entries: %v, kubeadm-config is\n%s", h.entries(), h.kubeadm)
				}
				if i == 0 {
					h.says("`kubeadm upgrade` on such a host takes Bulkhead out of kube-apiserver there")
				}
			}
			for i, h := range all {
				h.on().mustBe(before[i])
			}
			all[0].allHave()
		})
	}
}

func TestSecondInstallationOfSeveralHosts(t *testing.T) {
	onHosts(t, "changes nothing, half-installed or installed", 2, func(t *testing.T, all []*testHost) {
		again := func(h *testHost) {
			t.Helper()
			before := h.on().snapshot()
			h.out.Reset()
			must(t, h.install(options(Hardened)))
			h.mustBe(before)
			h.says("Nothing had to be changed")
			must(t, h.installer().DryRun(t.Context(), options(Hardened)))
			if strings.Contains(h.out.String(), "would") {
				t.Errorf("the dry run says:\n%s", &h.out)
			}
		}
		must(t, all[0].install(options(Hardened)))
		again(all[0])
		must(t, all[1].install(options(Hardened)))
		again(all[0])
		again(all[1])
	})
}

func TestEntryOfAHost(t *testing.T) {
	onHosts(t, "equal settings on two hosts, then another setting on one", 2, func(t *testing.T, all []*testHost) {
		o := options(Hardened)
		o.Extensions.RuleModes = map[string]string{"NR-PODIP-1": "off"}
		must(t, all[0].install(o))
		must(t, all[1].install(o))
		first, second := all[0].entry("cp-1"), all[0].entry("cp-2")
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("the entries differ:\n%s", diff)
		}
		want := hosts.Host{Version: "test", Profile: "hardened", Mode: hosts.Enforce, Image: "example.test/bulkhead:1",
			ConfigHash: first.ConfigHash, Wiring: first.Wiring, Modes: "enforce, NR-PODIP-1=off"}
		if diff := cmp.Diff(want, first); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		o.Extensions.AuditOnly = true
		must(t, all[1].install(o))
		second = all[0].entry("cp-2")
		if second.Mode != hosts.Audit || second.Modes != first.Modes || second.ConfigHash == first.ConfigHash ||
			second.Wiring == first.Wiring {
			t.Errorf("the entry is %+v, before it was %+v", second, first)
		}
	})
}

// A half-installed cluster: `kubeadm upgrade` writes a manifest without Bulkhead.

// The flags in kubeadm-config change with the last host. Until then the old ones name files that all

// hosts have.

// The last version edited kubeadm-config with the first host, and wrote no entries.

// kubeadm-config waits for every host of which it is not sure.

func TestEntryThatDoesNotCount(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*testing.T, *testHost)
		says  string
	}{
		{"entry of this host: counts", func(*testing.T, *testHost) {}, ""},
		{"half an entry", func(t *testing.T, h *testHost) {
			_, err := hosts.Update(t.Context(), h.configs, func(entries map[string]string) { entries["cp-1"] = "{" })
			must(t, err)
		}, "cp-1 (its entry in ConfigMap bulkhead-hosts cannot be read)"},
		{"host was reset and has joined again", func(t *testing.T, h *testHost) {
			must(t, os.RemoveAll(h.layout.State))
			must(t, os.RemoveAll(h.layout.Manifests))
			must(t, os.MkdirAll(h.layout.Manifests, 0o700))
			must(t, os.WriteFile(h.layout.APIServerManifest(), h.original, 0o600))
		}, "cp-1 (node-authorizer does not run there)"},
		{"other profile", func(t *testing.T, h *testHost) { must(t, h.install(options(Parity))) },
			"cp-1 (it has other settings: profile parity, mode enforce, verifyKubelets false)"},
	} {
		onHosts(t, tc.name, 2, func(t *testing.T, all []*testHost) {
			must(t, all[0].install(options(Hardened)))
			tc.spoil(t, all[0])
			must(t, all[1].install(options(Hardened)))
			if all[0].kubeadmNames() != (tc.says == "") {
				t.Errorf("kubeadm-config is\n%s", all[0].kubeadm)
			}
			all[1].says(tc.says)
			all[0].allHave()
		})
	}
}

// The kubelet of another host has not reported node-authorizer yet.

func TestLateReportOfAKubelet(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after time.Duration
		wired bool
	}{
		{"within a minute: waits for it", 40 * time.Second, true},
		{"never: kubeadm-config waits for the next installation", time.Hour, false},
	} {
		onHosts(t, tc.name, 2, func(t *testing.T, all []*testHost) {
			must(t, all[0].install(options(Hardened)))
			all[1].said = func(line string) {
				if strings.Contains(line, "list this host") {
					all[0].hidden = time.Now().Add(tc.after)
				}
			}
			must(t, all[1].install(options(Hardened)))
			if all[0].kubeadmNames() != tc.wired {
				t.Errorf("kubeadm-config is\n%s\n%s", all[0].kubeadm, &all[1].out)
			}
		})
	}
}

func TestEntryOfADeletedNodeIsRemoved(t *testing.T) {
	onHosts(t, "with the next installation", 2, func(t *testing.T, all []*testHost) {
		must(t, all[0].install(options(Hardened)))
		_, err := hosts.Update(t.Context(), all[0].configs, func(entries map[string]string) { entries["gone"] = "{}" })
		must(t, err)
		must(t, all[1].install(options(Hardened)))
		all[1].says(`host "gone" has no control-plane Node any more`)
		if _, left := all[0].entries()["gone"]; left || len(all[0].entries()) != 2 {
			t.Errorf("entries: %v", all[0].entries())
		}
	})
}

func TestEntryIsRemovedFromAHostThatLostItsFiles(t *testing.T) {
	onHosts(t, "the entry, then nothing", 2, func(t *testing.T, all []*testHost) {
		h := all[0]
		must(t, h.install(options(Hardened)))
		must(t, os.RemoveAll(h.layout.State))
		for _, file := range h.layout.ComponentManifests() {
			_ = os.Remove(file)
		}
		must(t, os.WriteFile(h.layout.APIServerManifest(), h.original, 0o600))
		must(t, h.uninstall())
		h.says("remove this host from ConfigMap bulkhead-hosts")
		if len(h.entries()) != 0 {
			t.Errorf("entries: %v", h.entries())
		}
		must(t, h.uninstall())
		h.says("Nothing had to be changed")
	})
}

// The last host fails after it has edited kubeadm-config.

// The API server has a broken file of Bulkhead, so it does not answer until its manifest is restored.
