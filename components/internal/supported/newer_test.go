// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package supported

import "testing"

func TestNewer(t *testing.T) {
	if newest := tested[len(tested)-1]; newest != "1.37" {
		t.Fatalf("the newest tested minor version is %s: change the table", newest)
	}
	for _, tc := range []struct {
		name, version string
		newer, fails  bool
	}{
		{name: "tested version", version: "v1.37.0"},
		{name: "newer patch of the tested minor", version: "v1.37.99"},
		{name: "tested minor of a vendor", version: "v1.37.2-gke.1500+build"},
		{name: "older minor", version: "v1.34.1"},
		{name: "older major", version: "v0.99.0"},
		{name: "next minor", version: "v1.38.0", newer: true},
		{name: "pre-release of the next minor", version: "v1.38.0-alpha.1", newer: true},
		{name: "minor with more digits", version: "v1.100.0", newer: true},
		{name: "next major", version: "v2.0.0", newer: true},
		{name: "empty", version: "", fails: true},
		{name: "no number", version: "vX.Y", fails: true},
		{name: "number that is too large", version: "v1.99999999999999999999.0", fails: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			newer, err := Newer(tc.version)
			if newer != tc.newer || (err != nil) != tc.fails {
				t.Errorf("Newer(%q) = %v, %v; want %v, an error: %v", tc.version, newer, err, tc.newer, tc.fails)
			}
		})
	}
}
