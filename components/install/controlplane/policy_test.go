// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

const ownPolicy = "apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\nallowedLabels: [mine]\n"

func profilePolicy(t *testing.T) string {
	t.Helper()
	data, err := manifests.FS.ReadFile(manifests.RestrictionPolicy)
	must(t, err)
	return string(data)
}

// policyIs returns the file that node-restriction reads. It is empty if there is none.
func (h *testHost) policyIs() string {
	h.t.Helper()
	if !strings.Contains(string(read(h.t, h.layout.NodeRestrictionManifest())), "--config="+h.layout.RestrictionPolicy()) {
		return ""
	}
	return string(read(h.t, h.layout.RestrictionPolicy()))
}

// The result is the future configuration, not the current file on disk.
func TestMirrorPodPolicy(t *testing.T) {
	const warns = "apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\nmirrorPods: {mode: warn}\n"
	own := Policy{Own: true, File: []byte(warns)}
	for _, tc := range []struct {
		name string
		// there is the current file on disk. recorded is true if the last installation wrote it.
		there    string
		recorded bool
		profile  Profile
		policy   Policy
		gate     configuration.Gate
		none     bool
	}{
		{"hardened has its own", "", false, Hardened, Policy{}, configuration.Enforce, false},
		{"parity has none", "", false, Parity, Policy{}, configuration.Off, true},
		{"a file that was edited by hand counts", warns, false, Hardened, Policy{}, configuration.Warn, false},
		{"not in parity, which reads none", warns, false, Parity, Policy{}, configuration.Off, true},
		{"generated policy is replaced by the profile's", warns, true, Hardened, Policy{}, configuration.Enforce, false},
		{"one that was chosen before counts", warns, true, Hardened, Policy{Own: true}, configuration.Warn, false},
		{"in parity, too", warns, true, Parity, Policy{Own: true}, configuration.Warn, false},
		{"one that is given now counts, whatever is there", ownPolicy, false, Hardened, own, configuration.Warn, false},
		{"new policy without an old one", "", false, Parity, own, configuration.Warn, false},
		{"the profile's counts if a person goes back to it", warns, false, Hardened, Policy{Reset: true},
			configuration.Enforce, false},
		{"invalid policy that is given up is ignored",
			"{", false, Hardened, Policy{Reset: true}, configuration.Enforce, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newTestHost(t)
			if tc.there != "" {
				must(t, os.MkdirAll(h.layout.NodeRestriction(), 0o700))
				must(t, os.WriteFile(h.layout.RestrictionPolicy(), []byte(tc.there), 0o600))
			}
			if tc.recorded {
				data, err := Record{Policy: PolicyRecord{Written: journal.Hash([]byte(tc.there))}}.encode()
				must(t, err)
				must(t, os.MkdirAll(h.layout.Records(), 0o700))
				must(t, os.WriteFile(h.layout.Record(), data, 0o600))
			}
			policy, opened, err := MirrorPodPolicy(h.layout, Options{Profile: tc.profile, Policy: tc.policy})
			if err != nil || (policy == nil) != tc.none {
				t.Fatalf("%v, %v", policy, err)
			}
			if !tc.none && (policy.MirrorPods.Gate != tc.gate || opened[MirrorAllowed] != "true") {
				t.Errorf("gate %v, opened %v", policy.MirrorPods.Gate, opened)
			}
		})
	}
	h := newTestHost(t)
	must(t, os.MkdirAll(h.layout.NodeRestriction(), 0o700))
	must(t, os.WriteFile(h.layout.RestrictionPolicy(), []byte("{"), 0o600))
	if _, _, err := MirrorPodPolicy(h.layout, Options{Profile: Hardened}); err == nil {
		t.Error("a file that is no good is taken")
	}
}

func TestPolicyPrecedence(t *testing.T) {
	own := Policy{Own: true, File: []byte(ownPolicy)}
	type run struct {
		profile Profile
		policy  Policy
		// edit is what a user writes to the file afterwards.
		edit string
	}
	for _, tc := range []struct {
		name string
		runs []run
		want string
	}{
		{"hardened has the profile's", []run{{profile: Hardened}}, profilePolicy(t)},
		{"parity has none", []run{{profile: Parity}}, ""},
		{"parity has none after hardened", []run{{profile: Hardened}, {profile: Parity}}, ""},
		{"hardened after parity restores the profile's policy",
			[]run{{profile: Hardened}, {profile: Parity}, {profile: Hardened}},
			profilePolicy(t)},
		{"chosen policy is used", []run{{profile: Hardened, policy: own}}, ownPolicy},
		{"in parity too", []run{{profile: Parity, policy: own}}, ownPolicy},
		{"chosen policy stays", []run{{profile: Hardened, policy: own}, {profile: Parity, policy: Policy{Own: true}}},
			ownPolicy},
		{"also as it was edited",
			[]run{{profile: Hardened, policy: own, edit: ownPolicy + "#\n"}, {profile: Hardened, policy: Policy{Own: true}}},
			ownPolicy + "#\n"},
		{"until it is given back", []run{{profile: Hardened, policy: own}, {profile: Hardened, policy: Policy{Reset: true}}},
			profilePolicy(t)},
		{"the profile's that was edited by hand is kept", []run{{profile: Hardened, edit: ownPolicy}, {profile: Hardened}},
			ownPolicy},
		{"until it is given back, too",
			[]run{{profile: Hardened, edit: ownPolicy}, {profile: Hardened, policy: Policy{Reset: true}}}, profilePolicy(t)},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			for _, r := range tc.runs {
				o := options(r.profile)
				o.Policy = r.policy
				must(t, h.installer().Install(t.Context(), o))
				if r.edit != "" {
					must(t, os.WriteFile(h.layout.RestrictionPolicy(), []byte(r.edit), 0o640))
				}
			}
			if got := h.policyIs(); got != tc.want {
				t.Errorf("it is\n%s", got)
			}
		})
	}
}

func TestPreflightChecksTheRequestedInstallation(t *testing.T) {
	onHost(t, "a file given now", func(t *testing.T, h *testHost) {
		o := options(Hardened)
		o.Policy = Policy{Own: true, File: []byte(ownPolicy)}
		for _, run := range []func(*Installer) error{
			func(in *Installer) error { return in.Install(t.Context(), o) },
			func(in *Installer) error { return in.DryRun(t.Context(), o) },
		} {
			in, seen := h.installer(), ""
			in.Preflight = func(_ context.Context, o Options) error { seen = string(o.Policy.File); return nil }
			must(t, run(in))
			if seen != ownPolicy {
				t.Errorf("it sees %q", seen)
			}
		}
	})
}

func TestAPolicyOfTheProfileFromAnOlderVersionIsReplaced(t *testing.T) {
	onHost(t, "hardened", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		must(t, os.WriteFile(h.layout.RestrictionPolicy(), []byte(ownPolicy), 0o640))
		record, err := ReadRecord(h.layout)
		must(t, err)
		record.Policy.Written = journal.Hash([]byte(ownPolicy))
		data, err := record.encode()
		must(t, err)
		must(t, os.WriteFile(h.layout.Record(), data, 0o600))
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		if h.policyIs() != profilePolicy(t) {
			t.Errorf("it is\n%s", h.policyIs())
		}
	})
}

func TestInvalidPolicyIsRejected(t *testing.T) {
	onHost(t, "a typing error", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		o := options(Hardened)
		o.Policy = Policy{Own: true, File: []byte(strings.Replace(ownPolicy, "allowedLabels", "allowedLables", 1))}
		mentions(t, h.installer().Install(t.Context(), o), `unknown field "allowedLables"`)
		o.Policy = Policy{Own: true, File: []byte{}}
		mentions(t, h.installer().Install(t.Context(), o), "is empty")
		o.Policy = Policy{Own: true}
		mentions(t, h.installer().Install(t.Context(), o), "is gone")
		h.mustBe(before)
	})
}

func TestTheProfilesPolicyIsTheStrictest(t *testing.T) {
	c, err := configuration.Parse([]byte(profilePolicy(t)))
	must(t, err)
	if c.AllowedLabels == nil || c.AllowedTaints == nil || c.AllowedLabels.Has("a") || c.AllowedTaints.Has("a") {
		t.Error("a node may set labels or taints of its own")
	}
	if c.MirrorPods.Gate != configuration.Enforce || !c.MirrorPods.RequireNamespace {
		t.Errorf("mirror pods: %+v", c.MirrorPods)
	}
	if c.Caps.MirrorPods == 0 || c.Caps.ResourceSlices == 0 || c.Caps.PodCertificateRequests == 0 ||
		c.Caps.CertificateSigningRequests == 0 || c.MaxTokenSeconds < 3607 {
		t.Errorf("caps %+v, tokens of %d s", c.Caps, c.MaxTokenSeconds)
	}
}
