// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-k8s/bulkhead/components/install/node"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// machineFile is a file that Cluster API or cloud-init writes to a machine.
type machineFile struct{ Path, Owner, Permissions, Content string }

// kubeadmConfig has the fields of Cluster API's KubeadmConfigSpec that the examples use. The module
// components/conformance/clusterapi validates the objects by their schemas.
type kubeadmConfig struct {
	Files []machineFile
	Pre   []string `yaml:"preKubeadmCommands"`
	Post  []string `yaml:"postKubeadmCommands"`
}

// machine is what an example does on a machine. Commands is in the order of execution.
type machine struct {
	name     string
	files    []machineFile
	commands []string
}

// object is an object of Cluster API.
type object[T any] struct {
	APIVersion string    `yaml:"apiVersion"`
	Kind       string    `yaml:"kind"`
	Metadata   yaml.Node `yaml:"metadata"`
	Spec       T         `yaml:"spec"`
}

type (
	controlPlaneSpec struct {
		Config kubeadmConfig  `yaml:"kubeadmConfigSpec"`
		Others map[string]any `yaml:",inline"`
	}
	templateSpec struct {
		Template struct{ Spec kubeadmConfig }
	}
	cloudConfig struct {
		Files []machineFile `yaml:"write_files"`
		Run   []string      `yaml:"runcmd"`
	}
)

// machines returns all examples that write files and run commands on a machine.
func machines(t *testing.T) []machine {
	t.Helper()
	var (
		servers object[controlPlaneSpec]
		workers object[templateSpec]
	)
	readExample(t, "cluster-api/control-plane.yaml", &servers)
	readExample(t, "cluster-api/workers.yaml", &workers)
	// Cluster API runs kubeadm between the two lists.
	around := func(c kubeadmConfig) []string { return slices.Concat(c.Pre, []string{"kubeadm join"}, c.Post) }
	all := []machine{
		{"cluster-api/control-plane.yaml", servers.Spec.Config.Files, around(servers.Spec.Config)},
		{"cluster-api/workers.yaml", workers.Spec.Template.Spec.Files, around(workers.Spec.Template.Spec)},
	}
	for _, name := range []string{"cloud-init/control-plane.yaml", "cloud-init/worker.yaml"} {
		var config cloudConfig
		readExample(t, name, &config)
		if !strings.HasPrefix(textOf(t, filepath.Join(examples, name)), "#cloud-config\n") {
			t.Errorf("%s does not begin with #cloud-config", name)
		}
		all = append(all, machine{name, config.Files, config.Run})
	}
	return all
}

func (m machine) controlPlane() bool { return strings.HasSuffix(m.name, "control-plane.yaml") }

// file returns the content of a file that the example writes.
func (m machine) file(t *testing.T, path string) machineFile {
	t.Helper()
	at := slices.IndexFunc(m.files, func(f machineFile) bool { return f.Path == path })
	if at < 0 {
		t.Fatalf("%s writes no %s", m.name, path)
	}
	return m.files[at]
}

// The order is that of docs/install.md. `bulkhead prepare` and the unit come before kubeadm.
func TestMachinesRunValidCommandsInOrder(t *testing.T) {
	const config = "--config=/etc/kubernetes/bulkhead.yaml"
	controlPlane := []string{"bulkhead prepare --profile=hardened", "kubeadm join", "bulkhead install " + config,
		"bulkhead node install --wait", "bulkhead install " + config}
	worker := []string{"bulkhead node unit", "systemctl daemon-reload", "systemctl enable " + node.InstallUnit,
		"kubeadm join"}
	for _, m := range machines(t) {
		t.Run(m.name, func(t *testing.T) {
			script := strings.Join(m.commands, "\n")
			checkPrograms(t, script)
			var got []string
			for _, words := range commandsIn(script) {
				switch words[0] {
				case "bulkhead", "systemctl":
					got = append(got, strings.Join(words, " "))
				case "kubeadm":
					got = append(got, strings.Join(words[:2], " "))
				}
			}
			want := worker
			if m.controlPlane() {
				want = controlPlane
				checkInstallation(t, m.file(t, "/etc/kubernetes/bulkhead.yaml").Content)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +runs)\n%s", diff)
			}
		})
	}
}

// Cluster API starts each worker's kubelet with a taint. The example's policy is that of hardened
// and allows it.
func TestClusterAPIPolicyIsHardenedWithOneTaint(t *testing.T) {
	file := checkInstallation(t, machines(t)[0].file(t, "/etc/kubernetes/bulkhead.yaml").Content)
	got, err := file.Policy()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := configuration.Parse(got); err != nil {
		t.Fatal(err)
	}
	hardened, err := manifests.FS.ReadFile(manifests.RestrictionPolicy)
	if err != nil {
		t.Fatal(err)
	}
	var policy, want map[string]any
	if err := errors.Join(yaml.Unmarshal(got, &policy), yaml.Unmarshal(hardened, &want)); err != nil {
		t.Fatal(err)
	}
	want["allowedTaints"] = []any{"node.cluster.x-k8s.io/uninitialized"}
	if diff := cmp.Diff(want, policy); diff != "" {
		t.Errorf("(-hardened with the taint +example)\n%s", diff)
	}
}

// runIn runs a shell script. Only the programs in dir and those of the system are found.
func runIn(t *testing.T, dir, script string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
	output, err := cmd.CombinedOutput()
	t.Logf("%s\n%s", script, output)
	return err
}

func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// The unit is enabled before kubeadm starts the kubelet, so a worker needs no command after it.
func TestWorkersEnableTheUnit(t *testing.T) {
	for _, m := range machines(t) {
		if m.controlPlane() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			if slices.ContainsFunc(m.files, func(f machineFile) bool { return f.Path == "/usr/local/bin/bulkhead-retry" }) {
				t.Error("it writes a program that it does not use")
			}
			at := slices.IndexFunc(m.commands, func(c string) bool { return strings.Contains(c, "bulkhead node unit") })
			if at < 0 {
				t.Fatal("no command prints the unit")
			}
			dir := t.TempDir()
			for _, name := range []string{"bulkhead", "systemctl", "kubeadm"} {
				writeProgram(t, filepath.Join(dir, name),
					fmt.Sprintf("#!/bin/sh\necho %s \"$*\" >>%s/runs\necho the output of %s\n", name, dir, name))
			}
			script := strings.ReplaceAll(strings.Join(m.commands[at:], "\n"), "/etc/systemd/system", dir)
			if err := runIn(t, dir, script); err != nil {
				t.Fatal(err)
			}
			want := "bulkhead node unit\nsystemctl daemon-reload\nsystemctl enable " + node.InstallUnit + "\nkubeadm join"
			if runs := textOf(t, filepath.Join(dir, "runs")); !strings.HasPrefix(runs, want) {
				t.Errorf("runs\n%s, want\n%s", runs, want)
			}
			if unit := textOf(t, filepath.Join(dir, node.InstallUnit)); unit != "the output of bulkhead\n" {
				t.Errorf("%s is %q", node.InstallUnit, unit)
			}
		})
	}
}

func TestControlPlanesRetry(t *testing.T) {
	for _, m := range machines(t) {
		if !m.controlPlane() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			file := m.file(t, "/usr/local/bin/bulkhead-retry")
			if file.Permissions != "0755" || file.Owner != "root:root" {
				t.Errorf("permissions %s, owner %s", file.Permissions, file.Owner)
			}
			for _, tc := range []struct {
				name             string
				succeeds, trials int
			}{{"the third succeeds", 3, 3}, {"none succeeds", 99, 30}} {
				dir := t.TempDir()
				writeProgram(t, filepath.Join(dir, "bulkhead-retry"), file.Content)
				writeProgram(t, filepath.Join(dir, "sleep"), "#!/bin/sh\n")
				writeProgram(t, filepath.Join(dir, "bulkhead"), fmt.Sprintf(
					"#!/bin/sh\necho \"$*\" >>%[1]s/runs\n[ $(wc -l <%[1]s/runs) -ge %[2]d ]\n", dir, tc.succeeds))
				err := runIn(t, dir, "bulkhead-retry bulkhead install")
				runs := textOf(t, filepath.Join(dir, "runs"))
				if (err == nil) != (tc.succeeds == tc.trials) || runs != strings.Repeat("install\n", tc.trials) {
					t.Errorf("%s: error %v, runs\n%s", tc.name, err, runs)
				}
			}
		})
	}
}

// A tarball with another checksum is not unpacked.
func TestMachinesCheckTheTarball(t *testing.T) {
	for _, m := range machines(t) {
		t.Run(m.name, func(t *testing.T) {
			dir := t.TempDir()
			tarball := filepath.Join(dir, "bulkhead.tar.gz")
			// A release has all files in one directory.
			if err := runIn(t, dir, "cd "+dir+" && mkdir -p out bulkhead-v0.2.0-linux-amd64 && "+
				"echo >bulkhead-v0.2.0-linux-amd64/bulkhead && tar -czf made bulkhead-*"); err != nil {
				t.Fatalf("cannot make a tarball: %v", err)
			}
			// The download ends with the URL. This one copies a file.
			writeProgram(t, filepath.Join(dir, "curl"), "#!/bin/sh\ncp "+dir+"/made "+tarball+"\n")
			sum := fmt.Sprintf("%x", sha256.Sum256([]byte(textOf(t, filepath.Join(dir, "made")))))
			here := strings.NewReplacer("/run/bulkhead.tar.gz", tarball, "/usr/local/bin", filepath.Join(dir, "out")).
				Replace(m.commands[0])
			program := filepath.Join(dir, "out/bulkhead")
			if err := runIn(t, dir, here); err == nil || atomicfile.Exists(program) {
				t.Error("a wrong checksum: it is unpacked")
			}
			if err := runIn(t, dir, strings.Replace(here, "REPLACE_ME", sum, 1)); err != nil || !atomicfile.Exists(program) {
				t.Errorf("the right checksum: it is not unpacked: %v", err)
			}
		})
	}
}
