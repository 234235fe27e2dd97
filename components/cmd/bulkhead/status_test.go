// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
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

// TestExitCodeOfOneHost: the health of the host does not change the exit code. Only a host that cannot be read
// is an error.
func TestExitCodeOfOneHost(t *testing.T) {
	state, manifests := t.TempDir(), t.TempDir()
	writeRecord(t, state, `{"profile": "hardened"}`)
	args := []string{"--state-dir=" + state, "--manifests-dir=" + manifests,
		"--kubeconfig=" + kubeconfigFor(t, "https://192.0.2.1")}
	if out, err := runStatus(t, args...); exitCode(err) != 1 || err == nil ||
		!strings.Contains(err.Error(), "cannot read kube-apiserver's manifest") {
		t.Errorf("without a manifest: error %v, output:\n%s", err, out)
	}
	const manifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: kube-apiserver, namespace: kube-system}\nspec:\n" +
		"  containers:\n  - name: kube-apiserver\n    image: i\n    command:\n    - kube-apiserver\n" +
		"    - --advertise-address=127.0.0.1\n    - --secure-port=1\n"
	if err := os.WriteFile(filepath.Join(manifests, "kube-apiserver.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := runStatus(t, args...)
	if err != nil || !strings.Contains(out, "does not answer: ") || !strings.Contains(out, "not ready: ") {
		t.Errorf("kube-apiserver is stopped: error %v, output:\n%s", err, out)
	}
}
