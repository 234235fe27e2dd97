// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseInReadsWhatInWrites(t *testing.T) {
	for _, want := range []Extensions{
		{Mode: "enforce"},
		{Mode: "off", RuleModes: map[string]string{"NA-CSR-1": "audit", "NR-PODIP-1": "off"}},
	} {
		got, err := ParseIn(want.In(Hardened))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got)\n%s", want.In(Hardened), err, diff)
		}
	}
}

func TestParseInDeniesOtherText(t *testing.T) {
	for _, text := range []string{"", "on", "enforce, NA-CSR-1", "NA-CSR-1=off", "enforce, NA-CSR-1=on", "enforce, audit",
		Extensions{AuditOnly: true}.In(Hardened)} {
		if got, err := ParseIn(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
