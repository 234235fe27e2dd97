// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

var root = filepath.Join("..", "..")

func TestHardeningWithout(t *testing.T) {
	for _, tc := range []struct {
		name string
		off  []string
		not  []string
	}{
		{"none", nil, nil},
		{"one", []string{"encryption"}, []string{"encryption"}},
		{"two", []string{"tls", "etcd-owner"}, []string{"tls", "etcd-owner"}},
		{"all", []string{"all"}, AllHardening()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := AllHardening().Without(tc.off)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range AllHardening() {
				if slices.Contains(got, name) == slices.Contains(tc.not, name) {
					t.Errorf("%s: settings are %v", name, got)
				}
			}
		})
	}
	if got, err := AllHardening().Without([]string{"encrytion"}); err == nil {
		t.Errorf("a setting that does not exist was turned off: %v", got)
	}
}

// Every file is a setting, and every setting has its file. All of them together are one valid
// configuration.
func TestHardeningFiles(t *testing.T) {
	dir := filepath.Join(root, "manifests", "hardening", "kubeadm")
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".yaml"))
	}
	if diff := cmp.Diff(names, kubeadmSettings); diff != "" {
		t.Errorf("settings (-files +names)\n%s", diff)
	}
	args := kubeadmArgs(t, AllHardening())
	for component, want := range map[string]map[string]string{
		"apiServer": {
			"audit-log-maxage": "30", "audit-log-maxbackup": "10", "profiling": "false", "tls-min-version": "VersionTLS12",
			"authentication-config":         hardeningInside + "/authentication.yaml",
			"encryption-provider-config":    "/etc/kubernetes/encryption/config.yaml",
			"admission-control-config-file": podSecurityInside + "/admission.yaml",
		},
		"controllerManager": {"profiling": "false", "terminated-pod-gc-threshold": "1000"},
		"scheduler":         {"profiling": "false"},
	} {
		for name, value := range want {
			if args[component][name] != value {
				t.Errorf("%s: --%s=%s, not %s", component, name, args[component][name], value)
			}
		}
	}
	off, err := AllHardening().Without([]string{"encryption", "pod-security", "profiling"})
	if err != nil {
		t.Fatal(err)
	}
	args = kubeadmArgs(t, off)
	for _, name := range []string{"encryption-provider-config", "admission-control-config-file", "profiling"} {
		if value, set := args["apiServer"][name]; set {
			t.Errorf("--%s=%s is set, but turned off", name, value)
		}
	}
	if args["apiServer"]["audit-log-maxage"] != "30" {
		t.Error("the audit log was turned off too")
	}
}

// kubeadmArgs returns the arguments that the components get from kubeadm.
func kubeadmArgs(t *testing.T, hardening Hardening) map[string]map[string]string {
	t.Helper()
	patches, err := hardening.kubeadmPatches(os.DirFS(filepath.Join(root, "manifests", "hardening", "kubeadm")))
	if err != nil {
		t.Fatal(err)
	}
	config, err := clusterConfig("bulkhead-x", DefaultSize, nil, hostTraits{}, patches)
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]map[string]string{}
	for _, patch := range config.KubeadmConfigPatches {
		var fields map[string]any
		if err := yaml.Unmarshal([]byte(patch), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["kind"] != "ClusterConfiguration" {
			continue
		}
		if len(args) > 0 {
			t.Fatal("there are two patches of ClusterConfiguration")
		}
		for component, value := range fields {
			args[component] = namedValues(value)
		}
	}
	return args
}

func namedValues(component any) map[string]string {
	values := map[string]string{}
	fields, _ := component.(map[string]any)
	items, _ := fields["extraArgs"].([]any)
	for _, item := range items {
		arg, _ := item.(map[string]any)
		values[arg["name"].(string)] = arg["value"].(string)
	}
	return values
}

func TestJoinKubeadmPatches(t *testing.T) {
	const head = "kind: ClusterConfiguration\n"
	for _, tc := range []struct {
		name    string
		patches []string
		want    []string
	}{
		{"other kinds stay", []string{"kind: A\n---\nkind: B\n"}, []string{"kind: A\n", "kind: B\n"}},
		{"lists are appended", []string{head + "apiServer: {extraArgs: [{name: a}]}\n", head +
			"apiServer: {extraArgs: [{name: b}]}\n"},
			[]string{"apiServer:\n  extraArgs:\n  - name: a\n  - name: b\n" + head}},
		{"the same argument twice", []string{head + "apiServer: {extraArgs: [{name: a}]}\n", head +
			"apiServer: {extraArgs: [{name: a}]}\n"}, nil},
		{"two values", []string{head + "clusterName: a\n", head + "clusterName: b\n"}, nil},
		{"a list and a string", []string{head + "a: []\n", head + "a: b\n"}, nil},
		{"no YAML", []string{"{"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := joinKubeadmPatches(tc.patches)
			if (err != nil) != (tc.want == nil) {
				t.Fatal(err)
			}
			if err == nil && !slices.Equal(got, tc.want) {
				t.Errorf("(-want +got)\n%s", cmp.Diff(tc.want, got))
			}
		})
	}
}

func TestWorkersHaveNoEncryptionKey(t *testing.T) {
	config, err := clusterConfig("bulkhead-x", DefaultSize, hostFolders{encryptionInside: "/key", "/b": "/b"},
		hostTraits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range config.Nodes {
		want := 1
		if node.Role == v1alpha4.ControlPlaneRole {
			want = 2
		}
		if len(node.ExtraMounts) != want {
			t.Errorf("%s has mounts %+v", node.Role, node.ExtraMounts)
		}
	}
}

// Each cluster gets a key of its own. The script never replaces one.
func TestEncryptionKey(t *testing.T) {
	c := &Cluster{Name: "bulkhead-x", Root: root, Output: t.TempDir(), Hardening: AllHardening()}
	key := func() string {
		t.Helper()
		folders, err := c.hostFolders(t.Context(), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folders[encryptionInside], "config.yaml")
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("mode %v, error %v", info.Mode(), err)
		}
		raw, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(raw), "secretbox") {
			t.Fatalf("%s, error %v", raw, err)
		}
		return string(raw)
	}
	first := key()
	if second := key(); first == second {
		t.Error("two clusters have the same key")
	}
	script := c.hardeningFiles("host", "encryption-key.sh")
	file := filepath.Join(c.encryptionFolder(), "config.yaml")
	if err := (progress.Command{Args: []string{"sh", script, file}}).Run(t.Context(), io.Discard); err == nil {
		t.Error("the script has replaced a key")
	}
	if err := c.removeEncryptionKey(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the key stays after its cluster")
	}
}
