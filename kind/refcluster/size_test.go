// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

func TestNodesOfASize(t *testing.T) {
	c := &Cluster{Name: "bulkhead-ha", Size: Size{ControlPlanes: 3, Workers: 2}}
	want := []string{"bulkhead-ha-control-plane", "bulkhead-ha-control-plane2", "bulkhead-ha-control-plane3",
		"bulkhead-ha-worker", "bulkhead-ha-worker2"}
	if diff := cmp.Diff(want, c.nodes()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	config, err := clusterConfig(c.Name, c.Size, hostFolders{"/inside": "/outside"}, hostTraits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var roles []v1alpha4.NodeRole
	for _, node := range config.Nodes {
		roles = append(roles, node.Role)
		if len(node.ExtraMounts) != 1 {
			t.Errorf("mounts of a %s: %+v", node.Role, node.ExtraMounts)
		}
	}
	const server, worker = v1alpha4.ControlPlaneRole, v1alpha4.WorkerRole
	if diff := cmp.Diff([]v1alpha4.NodeRole{server, server, server, worker, worker}, roles); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
}

func TestSizeCheck(t *testing.T) {
	for size, valid := range map[Size]bool{
		DefaultSize:                     true,
		{ControlPlanes: 3, Workers: 2}:  true,
		{ControlPlanes: 0, Workers: 1}:  false,
		{ControlPlanes: 1, Workers: 0}:  false,
		{ControlPlanes: -1, Workers: 1}: false,
	} {
		if err := size.Check(); (err == nil) != valid {
			t.Errorf("%+v: %v", size, err)
		}
	}
}

func TestEnsureInotify(t *testing.T) {
	for _, tc := range []struct {
		name, before string
		raise        bool
		after, err   string
	}{
		{"a private engine: too low is raised", "128\n", true, "512", ""},
		{"another engine: too low is an error", "128\n", false, "128\n", "sysctl fs.inotify.max_user_instances=512"},
		{"another engine: high enough", "512\n", false, "512\n", ""},
		{"a private engine: a higher limit stays", "8192\n", true, "8192\n", ""},
		{"not a number", "many", true, "many", "reading"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "max_user_instances")
			if err := os.WriteFile(file, []byte(tc.before), 0o600); err != nil {
				t.Fatal(err)
			}
			err := ensureInotify(file, tc.raise)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error: %v", err)
			}
			if after, err := os.ReadFile(file); err != nil || string(after) != tc.after {
				t.Errorf("after: %q, error %v", after, err)
			}
		})
	}
	if err := ensureInotify(filepath.Join(t.TempDir(), "missing"), false); err != nil {
		t.Errorf("an engine in a virtual machine: %v", err)
	}
}

// The name of the image is in an internal package of kind.
func TestBalancerImageIsTheImageOfKind(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kind").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "pkg", "cluster", "internal", "loadbalancer",
		"const.go"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "const Image = \"" + balancerImage + "\"\n"; !strings.Contains(string(source), want) {
		t.Errorf("kind's constant is not %q:\n%s", balancerImage, source)
	}
}
