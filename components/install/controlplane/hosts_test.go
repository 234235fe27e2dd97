// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"errors"
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
func TestKubeadmUpgradeOfAHalfInstalledCluster(t *testing.T) {
	onHosts(t, "Bulkhead is out, and comes back with the next installation", 2, func(t *testing.T, all []*testHost) {
		h := all[0]
		must(t, h.install(options(Hardened)))
		upgraded := bytes.ReplaceAll(h.original, []byte("v1.37.1"), []byte("v1.37.2"))
		must(t, os.WriteFile(h.layout.APIServerManifest(), upgraded, 0o600))
		h.kubelet()
		if h.wired() {
			t.Error("Bulkhead is still in kube-apiserver")
		}
		must(t, h.install(options(Hardened)))
		if !h.wired() {
			t.Error("Bulkhead is not in kube-apiserver")
		}
		must(t, h.uninstall())
		if got := read(t, h.layout.APIServerManifest()); !bytes.Equal(got, upgraded) {
			t.Errorf("the manifest is\n%s", got)
		}
	})
}

// The flags in kubeadm-config change with the last host. Until then the old ones name files that all
// hosts have.
func TestProfileSwitchOfAllHosts(t *testing.T) {
	onHosts(t, "from hardened to parity and back", 3, func(t *testing.T, all []*testHost) {
		for _, h := range all {
			must(t, h.install(options(Hardened)))
		}
		for _, profile := range []Profile{Parity, Hardened} {
			old := all[0].kubeadm
			for i, h := range all {
				h.out.Reset()
				must(t, h.install(options(profile)))
				if last := i == len(all)-1; (h.kubeadm != old) != last {
					t.Errorf("%s on %s: kubeadm-config is\n%s", profile, h.name, h.kubeadm)
				} else if !last {
					h.says("kubeadm-config keeps the flags of the former settings until")
				}
			}
		}
		for _, h := range all {
			must(t, h.uninstall())
		}
		if all[0].kubeadmNames() {
			t.Errorf("kubeadm-config is\n%s", all[0].kubeadm)
		}
		all[0].allHave()
	})
}

// The last version edited kubeadm-config with the first host, and wrote no entries.
func TestClusterOfTheLastVersion(t *testing.T) {
	lastVersion := func(t *testing.T, all []*testHost) (wired string) {
		t.Helper()
		for _, h := range all {
			must(t, h.install(options(Hardened)))
			h.out.Reset()
		}
		must(t, all[0].configs.Delete(t.Context(), hosts.ConfigMapName, deleteOptions))
		return all[0].kubeadm
	}
	onHosts(t, "all hosts have Bulkhead: entries are added", 2, func(t *testing.T, all []*testHost) {
		wired := lastVersion(t, all)
		must(t, all[0].install(options(Hardened)))
		if all[0].kubeadm != wired || len(all[0].entries()) != 1 || strings.Contains(all[0].out.String(), "fails there") {
			t.Errorf("entries: %v, kubeadm-config is\n%s\n%s", all[0].entries(), all[0].kubeadm, &all[0].out)
		}
		must(t, all[1].install(options(Hardened)))
		if all[0].kubeadm != wired || len(all[0].entries()) != 2 {
			t.Errorf("entries: %v, kubeadm-config is\n%s", all[0].entries(), all[0].kubeadm)
		}
		all[0].allHave()
	})
	onHosts(t, "settings change on one host: kubeadm-config stays", 2, func(t *testing.T, all []*testHost) {
		wired := lastVersion(t, all)
		must(t, all[0].install(options(Parity)))
		if all[0].kubeadm != wired {
			t.Errorf("kubeadm-config is\n%s", all[0].kubeadm)
		}
		all[0].says("keeps the flags of the former settings until `bulkhead install` with these settings has run on: cp-2")
	})
	onHosts(t, "a host without Bulkhead is named", 2, func(t *testing.T, all []*testHost) {
		wired := lastVersion(t, all)
		must(t, all[1].uninstall())
		all[0].kubeadm = wired // the last version did not restore it
		must(t, all[0].install(options(Hardened)))
		if all[0].kubeadm != wired {
			t.Errorf("kubeadm-config is\n%s", all[0].kubeadm)
		}
		all[0].says("node-authorizer does not run on cp-2")
	})
}

func TestHostThatJoins(t *testing.T) {
	onHosts(t, "all hosts have Bulkhead: prepared, joined, installed", 2, func(t *testing.T, all []*testHost) {
		must(t, all[0].install(options(Hardened)))
		// cp-2 is not in the control plane yet.
		joining := all[1]
		joining.members = joining.members[:1]
		must(t, all[0].install(options(Hardened)))
		if !joining.kubeadmNames() {
			t.Fatal("kubeadm-config does not name Bulkhead's files")
		}
		joining.on()
		must(t, os.Remove(joining.layout.APIServerManifest()))
		must(t, joining.installer().Prepare(t.Context(), options(Hardened)))
		joining.join()
		joining.members = all
		joining.allHave()
		wired := joining.kubeadm
		must(t, joining.install(options(Hardened)))
		if joining.kubeadm != wired || len(joining.entries()) != 2 {
			t.Errorf("entries: %v, kubeadm-config is\n%s", joining.entries(), joining.kubeadm)
		}
	})
	onHosts(t, "half-installed: no need to prepare, and kubeadm-config waits for the host", 3, func(t *testing.T,
		all []*testHost) {
		all[0].unlisted = []string{"cp-3"}
		must(t, all[0].install(options(Hardened)))
		all[0].unlisted = nil // joined
		must(t, all[1].install(options(Hardened)))
		all[1].says("has run on: cp-3\n")
		all[0].allHave()
		must(t, all[2].install(options(Hardened)))
		if !all[0].kubeadmNames() {
			t.Error("the last host has not edited kubeadm-config")
		}
		all[0].allHave()
	})
}

func TestHostWithoutNode(t *testing.T) {
	onHosts(t, "other hosts exist: kubeadm-config stays", 2, func(t *testing.T, all []*testHost) {
		must(t, all[1].install(options(Hardened)))
		all[0].unlisted = []string{"cp-1"}
		must(t, all[0].install(options(Hardened)))
		if all[0].kubeadm != kubeadmText {
			t.Errorf("kubeadm-config is\n%s", all[0].kubeadm)
		}
		all[0].says("no control-plane Node has the name of this host, cp-1")
	})
	onHosts(t, "no other host: as if alone", 1, func(t *testing.T, all []*testHost) {
		all[0].unlisted = []string{"cp-1"}
		must(t, all[0].install(options(Hardened)))
		if !all[0].kubeadmNames() {
			t.Errorf("kubeadm-config is\n%s", all[0].kubeadm)
		}
		all[0].says("no control-plane Node has the name of this host, cp-1")
	})
}

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
func TestRollbackOfTheLastHost(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(*testing.T, *testHost)
	}{
		{"step fails", func(t *testing.T, h *testHost) {
			p := h.on().begin(options(Hardened))
			steps := p.steps()
			steps[len(steps)-1].Apply = failing
			_, err := p.transaction(p.Timeout).Apply(t.Context(), p.journal, steps)
			mentions(t, err, "rolled back")
		}},
		{"killed, then recovered", func(t *testing.T, h *testHost) {
			h.on().kill(options(Hardened), stepCount-1)
			if !h.kubeadmNames() {
				t.Error("kubeadm-config was not edited")
			}
			must(t, h.installer().transaction(options(Hardened).Timeout).Recover(t.Context()))
		}},
	} {
		onHosts(t, tc.name, 2, func(t *testing.T, all []*testHost) {
			must(t, all[0].install(options(Hardened)))
			before := all[1].on().snapshot()
			tc.end(t, all[1])
			all[1].mustBe(before)
			all[1].says("Bulkhead runs on cp-1 too, but kubeadm-config does not name its files any more")
			all[1].allHave()
		})
	}
}

func TestKubeadmConfigIsWrittenByAnotherProgramAtTheSameTime(t *testing.T) {
	upgrade := func(text string) string { return strings.ReplaceAll(text, "v1.37.1", "v1.37.2") }
	onHost(t, "installation and uninstallation keep its change", func(t *testing.T, h *testHost) {
		h.conflict = upgrade
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		if !h.kubeadmNames() || !strings.Contains(h.kubeadm, "v1.37.2") {
			t.Errorf("kubeadm-config is\n%s", h.kubeadm)
		}
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		if h.kubeadm != upgrade(kubeadmText) {
			t.Errorf("kubeadm-config is\n%s", h.kubeadm)
		}
	})
	onHost(t, "a rollback keeps its change", func(t *testing.T, h *testHost) {
		h.conflict = upgrade
		p := h.begin(options(Hardened))
		steps := p.steps()
		steps[len(steps)-1].Apply = failing
		_, err := p.transaction(p.Timeout).Apply(t.Context(), p.journal, steps)
		mentions(t, err, "rolled back")
		if h.kubeadm != upgrade(kubeadmText) {
			t.Errorf("kubeadm-config is\n%s", h.kubeadm)
		}
	})
}

func TestUninstallRestoresKubeadmConfigFirst(t *testing.T) {
	onHosts(t, "before it changes kube-apiserver's manifest", 2, func(t *testing.T, all []*testHost) {
		must(t, all[0].install(options(Hardened)))
		must(t, all[1].install(options(Hardened)))
		seen := false
		all[0].on().said = func(line string) {
			if !seen && !all[0].kubeadmNames() {
				seen = true
				if got := read(t, all[0].layout.APIServerManifest()); bytes.Equal(got, all[0].original) {
					t.Error("kube-apiserver's manifest is restored already")
				}
			}
		}
		must(t, all[0].uninstall())
		if !seen {
			t.Error("kubeadm-config was not restored")
		}
	})
}

// The API server has a broken file of Bulkhead, so it does not answer until its manifest is restored.
func TestUninstallWithADeadServer(t *testing.T) {
	onHost(t, "kubeadm-config and the entry follow", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.serverStuck = true
		dead := func(string) error {
			if h.wired() {
				return errors.New("connection refused")
			}
			return nil
		}
		h.configs.Before(dead)
		h.leases.Before(dead)
		h.out.Reset()
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		h.configs.Before(nil)
		h.leases.Before(nil)
		h.mustBe(before)
		for _, want := range []string{"this run begins without the lock", "cannot restore it yet: connection refused"} {
			if !strings.Contains(h.out.String(), want) {
				t.Errorf("it does not say %q:\n%s", want, &h.out)
			}
		}
	})
}

func TestWiringHashIsAboutFlagsAndFiles(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		hash := func(r Record) string {
			got, err := (&plan{Installer: h.installer(), record: r}).wiringHash()
			must(t, err)
			return got
		}
		first := hash(Record{Profile: Hardened, Image: "a", Version: "v1"})
		if first != hash(Record{Profile: Hardened, Image: "b", Version: "v2"}) {
			t.Error("the image or version changes it")
		}
		for name, r := range map[string]Record{
			"profile": {Profile: Parity}, "kubelets": {Profile: Hardened, VerifyKubelets: true},
			"tokens": {Profile: Hardened, Extensions: Extensions{ExtendTokens: true}},
		} {
			if first == hash(r) {
				t.Errorf("the hash does not depend on: %s", name)
			}
		}
	})
}
