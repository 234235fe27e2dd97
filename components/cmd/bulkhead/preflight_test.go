// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// TestModesOfPreflight: preflight uses the modes that the installation would set.
func TestModesOfPreflight(t *testing.T) {
	for _, tt := range []struct {
		name     string
		profile  controlplane.Profile
		settings controlplane.Extensions
		want     rules.Mode
	}{
		{"hardened", controlplane.Hardened, controlplane.Extensions{}, rules.Enforce},
		{"parity", controlplane.Parity, controlplane.Extensions{}, rules.Off},
		{"hardened, all rules audit", controlplane.Hardened, controlplane.Extensions{Mode: "audit"}, rules.Audit},
		{"hardened, this rule off", controlplane.Hardened,
			controlplane.Extensions{RuleModes: map[string]string{"NR-PODIP-1": "off"}}, rules.Off},
		{"hardened, invalid mode", controlplane.Hardened, controlplane.Extensions{Mode: "invalid"}, rules.Enforce},
	} {
		if got := tt.settings.Modes(tt.profile)[noderestriction.PodIPInside]; got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestPreflightReadsWhetherThisHostEnforces: it depends on the installation, not on the flags of this run.
func TestPreflightReadsWhetherThisHostEnforces(t *testing.T) {
	data, err := os.ReadFile("../../install/apiserver/testdata/kubeadm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := apiserver.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	client, err := cluster.NewForConfig(&rest.Config{Host: "https://127.0.0.1:6443"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, record string
		want         bool
	}{
		{"nothing installed", "", false},
		{"hardened", `{"profile": "hardened"}`, true},
		{"hardened in mode audit", `{"profile": "hardened", "beyondUpstream": {"auditOnly": true}}`, false},
		{"parity", `{"profile": "parity"}`, false},
	} {
		for _, audit := range []bool{false, true} {
			var f hostFlags
			f.layout.State = stateOf(t, tt.record)
			o := controlplane.Options{Profile: controlplane.Hardened, Extensions: controlplane.Extensions{AuditOnly: audit}}
			in, err := f.preflightInput(o, manifest, client)
			if err != nil || in.Enforces != tt.want || in.AuditOnly != audit {
				t.Errorf("%s: error %v, enforces %v, want %v; mode audit %v, want %v", tt.name, err, in.Enforces, tt.want,
					in.AuditOnly, audit)
			}
		}
	}
}
