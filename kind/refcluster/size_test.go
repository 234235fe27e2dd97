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
