// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package realkubelet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/probe"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// here stands in for the way to a host: it runs the script where it is.
var here = &node{name: "node", address: "192.0.2.1", exec: "env"}

// The probe gets to the host whole, and runs there.
func TestPut(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "probe")
	if err := here.put(t.Context(), root, program); err != nil {
		t.Fatal(err)
	}
	out, err := here.run(t.Context(), program+" -proxy-cert=/nowhere 2>&1 || true")
	if err != nil || !strings.Contains(string(out), "nodeprobe: reading a client certificate: open /nowhere.crt") {
		t.Errorf("it says %q, error %v", out, err)
	}
}

// What is not there is told, beside every path, and is no error.
func TestWithoutACluster(t *testing.T) {
	for name, tc := range map[string]struct{ kubeconfig, want string }{
		"no kubeconfig":             {"", "not measured: no cluster (E2E_KUBECONFIG, KUBECONFIG)"},
		"a kubeconfig that is gone": {filepath.Join(t.TempDir(), "gone"), "not measured: stat "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("E2E_KUBECONFIG", tc.kubeconfig)
			t.Setenv("KUBECONFIG", "")
			section, err := Section(t.Context(), nil, sides.Plan{Say: t.Logf})
			if err != nil || len(section.Rows) != len(paths) {
				t.Fatalf("rows %+v, error %v", section.Rows, err)
			}
			for _, row := range section.Rows {
				if row.Missed() || !strings.HasPrefix(row.Note, tc.want) {
					t.Errorf("%s: %q, want %q", row.What, row.Note, tc.want)
				}
			}
		})
	}
}

func TestWithoutTheProxy(t *testing.T) {
	if _, err := os.Stat(proxyClient + ".crt"); err == nil {
		t.Skip("this machine is a node with kubelet-auth-proxy")
	}
	if _, err := here.measure(t.Context(), sides.Plan{}); err == nil || !strings.Contains(err.Error(), "node has no kubelet-auth-proxy") {
		t.Errorf("error %v", err)
	}
}

func TestRows(t *testing.T) {
	rows := rowsOf(&found{took: []probe.Took{{Path: "/pods", Bytes: 12, Proxy: report.Sample{300, 330, 360}, Direct: report.Sample{300, 300, 300}}}})
	if len(rows) != 1 || rows[0].Value != 1.1 || rows[0].Note != "330 µs, direct 300 µs; 12 bytes" {
		t.Errorf("rows %+v", rows)
	}
}
