// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

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
