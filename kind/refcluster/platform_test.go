// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	nodeimage "github.com/bulkhead-k8s/bulkhead/kind/node-image"
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

func TestNodeBin(t *testing.T) {
	linux, arm := host.Platform{OS: "linux", Arch: "amd64"}, host.Platform{OS: "linux", Arch: "arm64"}
	for _, tc := range []struct {
		name         string
		here, engine host.Platform
		want         string
	}{
		{"Linux: the programs here and in the nodes are the same", linux, linux, "out/bin"},
		{"no engine is known", linux, host.Platform{}, "out/bin"},
		{"macOS on Apple silicon", host.Platform{OS: "darwin", Arch: "arm64"}, arm, "out/bin/linux-arm64"},
		{"macOS on Intel", host.Platform{OS: "darwin", Arch: "amd64"}, linux, "out/bin/linux-amd64"},
		{"an engine of another architecture", linux, arm, "out/bin/linux-arm64"},
	} {
		if got := filepath.ToSlash(nodeBin("out", tc.here, tc.engine)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// A fake go writes the platform and the arguments of each call to a file.
const fakeGo = `#!/bin/sh
echo "$GOOS/$GOARCH $CGO_ENABLED $*" >>"$(dirname "$0")/calls"
`

// TestBuildToolsForTheEngine builds for an engine of another architecture. Only Bulkhead's programs are
// in the image, so only these are built for it.
func TestBuildToolsForTheEngine(t *testing.T) {
	here := host.Here()
	arch := map[string]string{"amd64": "arm64"}[here.Arch]
	if arch == "" {
		arch = "amd64"
	}
	dir, root := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(fakeGo), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	release, err := nodeimage.FindRelease("")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(release.ModuleDir(root), 0o750); err != nil {
		t.Fatal(err)
	}
	report, err := progress.New(&strings.Builder{}, filepath.Join(root, "logs"))
	if err != nil {
		t.Fatal(err)
	}
	workshop := Workshop{
		Root: root, Output: filepath.Join(root, "_output"), Progress: report, Release: release,
		Engine: host.Platform{OS: "linux", Arch: arch},
	}
	if err := workshop.BuildTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	calls := strings.Split(strings.TrimSpace(string(raw)), "\n")
	wants := []struct{ platform, in, not string }{
		{here.OS + "/" + here.Arch + " 0 build", "sigs.k8s.io/kind", kubectl},
		{"linux/" + arch + " 0 build", "./components/cmd/node-authorizer", "sigs.k8s.io/kind"},
		{here.OS + "/" + here.Arch + " 0 build", kubectl, "./components/cmd"},
	}
	if len(calls) != len(wants) {
		t.Fatalf("%d calls:\n%s", len(calls), raw)
	}
	for i, want := range wants {
		if !strings.HasPrefix(calls[i], want.platform) || !strings.Contains(calls[i], want.in) ||
			strings.Contains(calls[i], want.not) {
			t.Errorf("call %d is not %+v:\n%s", i, want, calls[i])
		}
	}
	if !strings.Contains(calls[1], filepath.Join("bin", "linux-"+arch)) {
		t.Errorf("the programs of the nodes are not in their own folder:\n%s", calls[1])
	}
}

func TestTraitsComeFromTheEngine(t *testing.T) {
	for _, tc := range []struct {
		name   string
		engine host.Engine
		want   hostTraits
	}{
		{"Docker Desktop, also where this machine has no cgroups", host.Engine{}, hostTraits{}},
		{"an engine with cgroup v1", host.Engine{Info: host.Info{CgroupV1: true}}, hostTraits{cgroupV1: true}},
		{"a private engine", host.Engine{Private: true}, hostTraits{noSysResource: true}},
	} {
		if got := traitsOf(tc.engine); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// Each client that [host.Find] may return has a provider of kind.
func TestEachClientHasAProvider(t *testing.T) {
	for _, client := range []string{"docker", "podman", "nerdctl", "finch", "nerdctl.lima"} {
		if providerOf(client) == nil {
			t.Errorf("%s has no provider", client)
		}
	}
}
