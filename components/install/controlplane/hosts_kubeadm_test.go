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
		// The last host has written the text. The first one restores the original nevertheless.
		h := all[0]
		must(t, h.install(options(Hardened)))
		h.says("Nothing had to be changed")
		must(t, h.uninstall())
		if h.kubeadm != kubeadmText {
			t.Errorf("kubeadm-config is\n%s", h.kubeadm)
		}
		all[0].allHave()
	})
}

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
