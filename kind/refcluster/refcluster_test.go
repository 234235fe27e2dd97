// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClusterConfigAddsOnlyMissingSettings(t *testing.T) {
	for _, tc := range []struct {
		name   string
		traits hostTraits
		want   []string
		not    []string
	}{
		{"default host: no extra settings", hostTraits{}, nil, []string{"failCgroupV1", "KubeletInUserNamespace"}},
		{"a cgroup v1 host gets failCgroupV1", hostTraits{cgroupV1: true}, []string{"failCgroupV1: false"},
			[]string{"KubeletInUserNamespace"}},
		{"a host without CAP_SYS_RESOURCE gets KubeletInUserNamespace", hostTraits{noSysResource: true},
			[]string{"KubeletInUserNamespace: true"}, []string{"failCgroupV1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config, err := clusterConfig("bulkhead-x", DefaultSize, hostFolders{"/inside": "/outside"}, tc.traits, nil)
			if err != nil {
				t.Fatal(err)
			}
			if config.Name != "bulkhead-x" || len(config.Nodes) != 2 || config.Nodes[0].ExtraMounts[0].HostPath != "/outside" ||
				config.Nodes[1].ExtraMounts[0].ContainerPath != "/inside" {
				t.Errorf("nodes: %+v", config.Nodes)
			}
			patches := strings.Join(config.KubeadmConfigPatches, "\n")
			for _, want := range tc.want {
				if !strings.Contains(patches, want) {
					t.Errorf("patches lack %q", want)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(patches, not) {
					t.Errorf("patches hold %q", not)
				}
			}
		})
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		name, kubeconfig string
	}{
		{"bulkhead", "kubeconfig"},
		{"bulkhead-second", "kubeconfig-second"},
		{"", ""},
		{"kind", ""},
		{"bulkheads", ""},
		{"bulkhead-", ""},
		{"bulkhead-a/../b", ""},
		{"bulkhead-UP", ""},
		{"bulkhead-a-b", ""},
	} {
		err := CheckName(tc.name)
		if (err == nil) != (tc.kubeconfig != "") {
			t.Errorf("%q: %v", tc.name, err)
		}
		if err == nil && Kubeconfig("/out", tc.name) != filepath.Join("/out", tc.kubeconfig) {
			t.Errorf("%q: %s", tc.name, Kubeconfig("/out", tc.name))
		}
	}
}

func TestParseNodeNetworks(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []nodeNetwork
	}{
		{"two nodes", "a 10.0.0.0/24 172.0.0.1\nb 10.0.1.0/24 172.0.0.2\n",
			[]nodeNetwork{{"a", "10.0.0.0/24", "172.0.0.1"}, {"b", "10.0.1.0/24", "172.0.0.2"}}},
		{"a Node without a machine", "a 10.0.0.0/24 172.0.0.1\ne2e-own\nb 10.0.1.0/24 172.0.0.2\n",
			[]nodeNetwork{{"a", "10.0.0.0/24", "172.0.0.1"}, {"b", "10.0.1.0/24", "172.0.0.2"}}},
		{"a node without a podCIDR is waited for", "a  172.0.0.1\nb 10.0.1.0/24 172.0.0.2\n", nil},
		{"a node that has not registered is waited for", "a 10.0.0.0/24 172.0.0.1\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseNodeNetworks(tc.in, []string{"a", "b"})
			if (err == nil) != (tc.want != nil) {
				t.Errorf("error: %v", err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(nodeNetwork{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckProfile(t *testing.T) {
	for _, profile := range Profiles {
		if err := CheckProfile(profile); err != nil {
			t.Error(err)
		}
	}
	if err := CheckProfile("strict"); err == nil {
		t.Error("a profile that is none was taken")
	}
}

func TestExampleScope(t *testing.T) {
	value, err := exampleScope(filepath.Join("..", "..", "docs", "examples", "node-scope", "kube-proxy.yaml"))
	if err != nil || value != "nodes, events" {
		t.Errorf("%q, error %v", value, err)
	}
	bare := filepath.Join(t.TempDir(), "bare.yaml")
	if err := os.WriteFile(bare, []byte("kind: ServiceAccount\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{bare, bare + "-missing"} {
		if value, err := exampleScope(file); err == nil {
			t.Errorf("%s: %q", file, value)
		}
	}
}
