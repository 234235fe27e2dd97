// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
)

func TestFindRelease(t *testing.T) {
	for version, want := range map[string]string{
		"": KubernetesVersion, "v1.37.1": "v1.37.1", "1.37.1": "v1.37.1", "1.37": "v1.37.1", "v1.37.x": "v1.37.1",
		"v1.36.3": "v1.36.3", "1.36.x": "v1.36.3", "1.36": "v1.36.3",
		"1.36.2": "", "1.3": "", "1.3.x": "", "v1": "", "latest": "", "1.38.0": "",
	} {
		got, err := FindRelease(version)
		if got.Version != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, want %q, error %v", version, got.Version, want, err)
		}
	}
}

// TestReleasesFollowTheirModules reads go.mod of each release: the version of its name, and all of
// Kubernetes' own modules with the same patch version.
func TestReleasesFollowTheirModules(t *testing.T) {
	for _, release := range releases {
		required, replaced := versions(t, release.module)
		if got := required["k8s.io/kubernetes"]; got != release.Version {
			t.Errorf("%s pins Kubernetes %s, not %s", release.module, got, release.Version)
		}
		staging := "v0" + strings.TrimPrefix(release.Version, "v1")
		if len(replaced) < 30 {
			t.Errorf("%s replaces only %d modules", release.module, len(replaced))
		}
		for module, version := range replaced {
			if version != staging {
				t.Errorf("%s has %s %s, not %s", release.module, module, version, staging)
			}
		}
	}
}

// TestModulesShareVersions checks that a package is not compiled twice because two modules want
// different versions of it. containerd is left out: it needs newer versions of some modules.
func TestModulesShareVersions(t *testing.T) {
	required, replaced := versions(t, releases[0].module)
	for module, version := range replaced {
		required[module] = version
	}
	// Kubernetes' go.mod names the old Caddy, but no program of it uses it.
	delete(required, "github.com/coredns/caddy")
	for _, dir := range []string{"etcd", "coredns", "cni-plugins"} {
		others, _ := versions(t, dir)
		for module, version := range others {
			if want := required[module]; want != "" && version != want && !strings.HasPrefix(module, "go.etcd.io/etcd/") {
				t.Errorf("%s has %s %s, and Kubernetes has %s: its packages are compiled twice", dir, module, version, want)
			}
		}
	}
}

// versions reads the requirements and the replacements in the go.mod of a folder.
func versions(t *testing.T, dir string) (required, replaced map[string]string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	required, replaced = map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(raw)) {
		line, _, _ = strings.Cut(strings.TrimPrefix(line, "require "), "//")
		switch fields := strings.Fields(line); {
		case len(fields) == 4 && fields[1] == "=>":
			replaced[fields[0]] = fields[3]
		case len(fields) == 2 && strings.HasPrefix(fields[1], "v"):
			required[fields[0]] = fields[1]
		}
	}
	return required, replaced
}

func TestTagDependsOnReleaseAndArchitecture(t *testing.T) {
	dir := t.TempDir()
	for _, release := range releases {
		if err := os.MkdirAll(filepath.Join(dir, release.module), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	tag := func(release Release, arch string) string {
		t.Helper()
		tag, err := release.Tag(dir, "v1", arch)
		if err != nil {
			t.Fatal(err)
		}
		return tag
	}
	first, other := tag(releases[0], "amd64"), tag(releases[1], "amd64")
	if first == other || first == tag(releases[0], "arm64") {
		t.Error("another release or architecture has the same tag")
	}
	module := filepath.Join(dir, releases[1].module, "go.mod")
	if err := os.WriteFile(module, []byte("module x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if tag(releases[0], "amd64") != first {
		t.Error("the module of another release changed the tag")
	}
	if tag(releases[1], "amd64") == other {
		t.Error("the module of the release did not change the tag")
	}
}

func TestCheckBuild(t *testing.T) {
	amd, arm := host.Platform{OS: "linux", Arch: "amd64"}, host.Platform{OS: "linux", Arch: "arm64"}
	for _, tc := range []struct {
		name   string
		here   host.Platform
		engine host.Platform
		root   bool
		want   string
	}{
		{"root on Linux", amd, amd, true, ""},
		{"root on Linux, arm64", arm, arm, true, ""},
		{"not root", amd, amd, false, "run: sudo make up"},
		{"macOS", host.Platform{OS: "darwin", Arch: "arm64"}, arm, true, "cannot build the node image on darwin"},
		{"an engine of another architecture", amd, arm, true, "for arm64 on amd64"},
	} {
		err := checkBuild(tc.here, host.Engine{Info: host.Info{Platform: tc.engine}}, tc.root)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}
