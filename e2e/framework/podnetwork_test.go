// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRangeScript(t *testing.T) {
	const before = `{"plugins": [{"ipam": {
    "ranges": [[{"subnet": "10.244.1.0/24"}]],
    "routes": [{"dst": "0.0.0.0/0"}]
  }}]}
`
	const after = `{"plugins": [{"ipam": {
    "ranges": [[{"subnet": "10.244.7.0/24"}]],
    "routes": [{"dst": "0.0.0.0/0"}]
  }}]}
`
	for _, tc := range []struct{ name, now, want string }{
		{"another range takes the place of the old one", "10.244.7.0/24", after},
		{"the same range stays", "10.244.1.0/24", before},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "network")
			if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), "sh", "-c", rangeScript(file, tc.now)).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got, err := os.ReadFile(file)
			if diff := cmp.Diff(tc.want, string(got)); diff != "" || err != nil {
				t.Errorf("error %v; -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestRouteScript(t *testing.T) {
	const replace = "set -e\nip route replace 10.244.7.0/24 via 172.18.0.3\n"
	for _, tc := range []struct{ name, before, want string }{
		{"the old route goes", "10.244.1.0/24", replace + "ip route del 10.244.1.0/24 via 172.18.0.3 2>/dev/null || true\n"},
		{"the same route stays", "10.244.7.0/24", replace},
		{"there was none", "", replace},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, routeScript(tc.before, "10.244.7.0/24", "172.18.0.3")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
