// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
)

func TestStatusShowsTheFailurePolicy(t *testing.T) {
	for _, tc := range []struct{ name, record, want string }{
		{"default", `{"profile": "hardened"}`, "Fail: while node-restriction is unavailable, the writes of nodes that"},
		{"Ignore", `{"profile": "hardened", "beyondUpstream": {"ignoreFailures": true}}`, "Ignore: while node-restriction"},
		{"mode audit", `{"profile": "hardened", "beyondUpstream": {"auditOnly": true}}`, "Ignore, because the installation"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			flags := hostFlags{layout: host.DefaultLayout()}
			flags.layout.State = t.TempDir()
			writeRecord(t, flags.layout.State, tc.record)
			if _, _, err := flags.printInstallation(&out); err != nil {
				t.Fatal(err)
			}
			if want := "failure policy   " + tc.want; !strings.Contains(out.String(), want) {
				t.Errorf("want %q:\n%s", want, out.String())
			}
		})
	}
}
