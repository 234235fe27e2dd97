// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// forget clears the settings in the environment of the person who runs the tests.
func forget(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "E2E_") {
			t.Setenv(name, "")
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestReadSettings(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		env  map[string]string
		want Settings
		ok   bool
	}{
		{
			"the defaults are for the reference cluster", map[string]string{KubeconfigVariable: "_output/kubeconfig"},
			Settings{
				Kubeconfig: filepath.Join(root, "_output/kubeconfig"), Profile: Hardened,
				NodeExec: defaultNodeExec, Artifacts: filepath.Join(root, "_output/e2e/hardened"),
			}, true,
		},
		{
			"any cluster can be described", map[string]string{
				KubeconfigVariable: "/k", "E2E_PROFILE": "parity", "E2E_NODE_EXEC": "ssh {node} --",
				"E2E_ARTIFACTS": "/a", "E2E_CONTROL_PLANE": "c", "E2E_WORKER": "w",
			},
			Settings{
				Kubeconfig: "/k", Profile: Parity, NodeExec: "ssh {node} --", NodeExecGiven: true,
				Artifacts: "/a", ControlPlane: "c", Worker: "w",
			}, true,
		},
		{
			"an empty command means no hosts",
			map[string]string{KubeconfigVariable: "/k", "E2E_ARTIFACTS": "/a", "E2E_NODE_EXEC": ""},
			Settings{Kubeconfig: "/k", Profile: Hardened, NodeExecGiven: true, Artifacts: "/a"}, true,
		},
		{
			"another profile is an error",
			map[string]string{KubeconfigVariable: "/k", "E2E_ARTIFACTS": "/a", "E2E_PROFILE": "soft", "E2E_NODE_EXEC": ""},
			Settings{Kubeconfig: "/k", Profile: "soft", NodeExecGiven: true, Artifacts: "/a"}, false,
		},
		{
			"a command without a node is an error",
			map[string]string{KubeconfigVariable: "/k", "E2E_ARTIFACTS": "/a", "E2E_NODE_EXEC": "ssh host"},
			Settings{Kubeconfig: "/k", Profile: Hardened, NodeExec: "ssh host", NodeExecGiven: true, Artifacts: "/a"}, false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			forget(t)
			for name, value := range tc.env {
				t.Setenv(name, value)
			}
			got, err := ReadSettings()
			if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != tc.ok {
				t.Errorf("error %v, settings (-want +got):\n%s", err, diff)
			}
		})
	}
}
