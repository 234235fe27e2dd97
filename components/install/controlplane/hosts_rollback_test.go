// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

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

func TestRollbackKeepsFilesThatKubeadmNames(t *testing.T) {
	onHosts(t, "until the API accepts the edit", 2, func(t *testing.T, all []*testHost) {
		must(t, all[0].install(options(Hardened)))
		h := all[1].on()
		before := h.snapshot()
		h.kill(options(Hardened), stepCount-1)
		h.kubeadmFixed = true
		recovery := h.installer().transaction(options(Hardened).Timeout)
		mentions(t, recovery.Recover(t.Context()), "cannot restore ConfigMap kubeadm-config: admission refuses")
		if !h.kubeadmNames() {
			t.Error("kubeadm-config was edited")
		}
		h.allHave()
		h.kubeadmFixed = false
		must(t, recovery.Recover(t.Context()))
		h.mustBe(before)
	})
}

func TestUninstallKeepsFilesThatKubeadmNames(t *testing.T) {
	onHosts(t, "until the API accepts the edit", 2, func(t *testing.T, all []*testHost) {
		must(t, all[0].install(options(Hardened)))
		must(t, all[1].install(options(Hardened)))
		all[0].kubeadmFixed = true
		mentions(t, all[0].uninstall(), "run `bulkhead uninstall` again")
		all[0].allHave()
		all[0].kubeadmFixed = false
		must(t, all[0].uninstall())
		if all[0].allHave(); all[0].kubeadm != kubeadmText {
			t.Errorf("kubeadm-config is\n%s", all[0].kubeadm)
		}
	})
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

func TestUninstallWithADeadServer(t *testing.T) {
	onHost(t, "kubeadm-config and the entry follow", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		_, err := h.leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: hosts.LeaseName},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: new("cp-9/1-killed"), RenewTime: &metav1.MicroTime{Time: time.Now()},
				LeaseDurationSeconds: new(int32(1))}}, metav1.CreateOptions{})
		must(t, err)
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
