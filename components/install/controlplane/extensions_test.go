// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
)

// beyondFlags are the flags of node-authorizer that these tests check.
var beyondFlags = []string{"--beyond-upstream", "--rule-mode", "--terminated-pod-grace", "--credential-provider-tokens"}

// beyondArgs returns these flags from a rendered pod.
func beyondArgs(t *testing.T, manifest []byte) []string {
	t.Helper()
	return slices.DeleteFunc(decode(t, manifest).Spec.Containers[0].Command, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return !slices.Contains(beyondFlags, name)
	})
}

// everything returns settings with every field set.
func everything() Extensions {
	grace, yes := time.Duration(0), true
	return Extensions{Mode: "audit", RuleModes: map[string]string{"NA-SA-3": "off", "NA-CSR-1": "enforce"},
		TerminatedPodGrace: &grace, CredentialProviderTokens: &yes}
}

func TestExtensionModesInTheStaticPod(t *testing.T) {
	no := false
	for _, tc := range []struct {
		name    string
		profile Profile
		beyond  Extensions
		want    []string
	}{
		{"hardened enforces", Hardened, Extensions{}, []string{"--beyond-upstream=enforce"}},
		{"parity has them off", Parity, Extensions{}, []string{"--beyond-upstream=off"}},
		{"a person knows better", Parity, Extensions{Mode: "audit"}, []string{"--beyond-upstream=audit"}},
		{"off is recorded too", Hardened, Extensions{CredentialProviderTokens: &no},
			[]string{"--beyond-upstream=enforce", "--credential-provider-tokens=false"}},
		{"everything is decided", Hardened, everything(), []string{
			"--beyond-upstream=audit", "--rule-mode=NA-CSR-1=enforce,NA-SA-3=off", "--terminated-pod-grace=0s",
			"--credential-provider-tokens=true",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data, err := nodeAuthorizerPod(host.DefaultLayout(), Options{Profile: tc.profile, Image: "i", Extensions: tc.beyond},
				plainServer(t))
			must(t, err)
			if diff := cmp.Diff(tc.want, beyondArgs(t, data)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestEachComponentGetsOnlyItsOwnRules: a component exits if it gets the mode of a rule that it
// does not know.
func TestEachComponentGetsOnlyItsOwnRules(t *testing.T) {
	b := Extensions{RuleModes: map[string]string{"NA-CSR-1": "audit", "NR-X-1": "off", "NR-X-2": "audit"}}
	o := Options{Profile: Hardened, Image: "i", Extensions: b}
	for _, tc := range []struct {
		render func() ([]byte, error)
		want   []string
	}{
		{func() ([]byte, error) { return nodeAuthorizerPod(host.DefaultLayout(), o, plainServer(t)) },
			[]string{"--beyond-upstream=enforce", "--rule-mode=NA-CSR-1=audit"}},
		{func() ([]byte, error) { return nodeRestrictionPod(host.DefaultLayout(), o, plainServer(t), true) },
			[]string{"--beyond-upstream=enforce", "--rule-mode=NR-X-1=off,NR-X-2=audit"}},
	} {
		data, err := tc.render()
		must(t, err)
		if diff := cmp.Diff(tc.want, beyondArgs(t, data)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestRecordHasTheChosenModes(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		o := options(Hardened)
		o.Extensions = everything()
		must(t, h.installer().Install(t.Context(), o))
		record, err := ReadRecord(h.layout)
		must(t, err)
		if diff := cmp.Diff(everything(), record.Extensions); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if want := "audit, NA-CSR-1=enforce, NA-SA-3=off"; record.Extensions.In(record.Profile) != want {
			t.Errorf("it reads %q, want %q", record.Extensions.In(record.Profile), want)
		}
	})
}

// TestAChangeOfModeRestartsOnlyTheComponents: the API server does not depend on rule modes.
func TestAChangeOfModeRestartsOnlyTheComponents(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		h.log = nil
		o := options(Hardened)
		o.Extensions.Mode = "audit"
		must(t, h.installer().Install(t.Context(), o))
		if diff := cmp.Diff([]string{"node-restriction", "node-authorizer"}, h.log); diff != "" {
			t.Errorf("restarts (-want +got):\n%s", diff)
		}
	})
}

func TestInvalidModesAreRejectedBeforeAnyChange(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		o := options(Hardened)
		grace := -time.Second
		o.Certificates.RenewBefore = 0
		o.Extensions = Extensions{Mode: "on", RuleModes: map[string]string{"NA-LEASE-1": "off", "NA-CSR-1": "no"},
			TerminatedPodGrace: &grace}
		for _, run := range []func() error{
			func() error { return h.installer().Install(t.Context(), o) },
			func() error { return h.installer().DryRun(t.Context(), o) },
		} {
			err := run()
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range []string{
				"--cert-renew-before", `--beyond-upstream: invalid mode "on"`, "--rule-mode: NA-LEASE-1 is always enforced",
				`--rule-mode: NA-CSR-1: invalid mode "no"`, "--terminated-pod-grace is -1s",
			} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		}
		h.mustBe(before)
	})
}
