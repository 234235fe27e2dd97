// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import "testing"

func TestParseMode(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       Mode
		ok         bool
	}{
		{"off", "off", Off, true},
		{"audit", "audit", Audit, true},
		{"enforce", "enforce", Enforce, true},
		{"empty string: invalid mode", "", Off, false},
		{"case matters", "Enforce", Off, false},
		{"name of an unknown mode: invalid mode", "unknown", Off, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := ParseMode(row.text)
			if got != row.want || (err == nil) != row.ok {
				t.Errorf("ParseMode(%q) = %v, %v; want %v, ok %v", row.text, got, err, row.want, row.ok)
			}
		})
	}
}

func TestModesReadAsTheyAreWritten(t *testing.T) {
	for _, mode := range []Mode{Off, Audit, Enforce} {
		if got, err := ParseMode(mode.String()); got != mode || err != nil {
			t.Errorf("ParseMode(%q) = %v, %v", mode, got, err)
		}
	}
	if got := Mode(7).String(); got != "unknown" {
		t.Errorf("Mode(7) is called %q", got)
	}
}
