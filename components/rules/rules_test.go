// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import "testing"

func TestFormatThenParseReason(t *testing.T) {
	rule := Rule{ID: "NA-LEASE-3"}
	for _, tc := range []struct {
		name, reason string
		want         ID
		ok           bool
	}{
		{"a refusal ends in its rule", rule.Reason("can only access node lease"), "NA-LEASE-3", true},
		{"an allow is the bare rule", rule.Reason(""), "NA-LEASE-3", true},
		{"upstream's reasons carry none", "no relationship found", "", false},
		{"an empty reason carries none", "", "", false},
		{"a bracket that does not close carries none", "odd [NA-LEASE-3", "", false},
		{"a bracket that does not open carries none", "odd NA-LEASE-3]", "", false},
		{"empty brackets carry none", "odd []", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := FromReason(tc.reason)
			if got != tc.want || ok != tc.ok {
				t.Errorf("FromReason(%q) = %q, %v; want %q, %v", tc.reason, got, ok, tc.want, tc.ok)
			}
		})
	}
}
