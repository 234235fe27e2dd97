// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	nodeimage "github.com/bulkhead-k8s/bulkhead/kind/node-image"
	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// The fake client of an engine that works. It pulls if the file registry exists.
const fakeDocker = `#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/commands"
case "$1" in
info) echo '{"OSType":"linux","Architecture":"x86_64","CgroupVersion":"2",` +
	`"MemoryLimit":true,"PidsLimit":true,"CPUShares":true}' ;;
image) exit 1 ;;
pull) [ -e "$here/registry" ] ;;
import) cat >/dev/null ;;
esac
`

// workspaceWithEngine returns a workspace and an engine whose client is fakeDocker.
func workspaceWithEngine(t *testing.T, registry bool) (*workspace, host.Engine, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(fakeDocker), 0o700); err != nil {
		t.Fatal(err)
	}
	if registry {
		if err := os.WriteFile(filepath.Join(dir, "registry"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("DOCKER_HOST", "unix:///fake.sock")
	t.Setenv(host.ProviderVariable, "docker")
	report, err := progress.New(io.Discard, filepath.Join(dir, "logs"))
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{root: dir, output: filepath.Join(dir, "_output"), progress: report}
	build := func(_ context.Context, _ io.Writer, _ host.Platform, _, output string) error {
		return os.WriteFile(output, nil, 0o600)
	}
	engine, err := host.Find(t.Context(), io.Discard, build)
	if err != nil || engine.Private {
		t.Fatalf("engine %+v, error %v", engine, err)
	}
	return w, engine, dir
}

func TestNodeImageChoice(t *testing.T) {
	for _, tc := range []struct {
		name, choice, version string
		registry              bool
		want, err             string
	}{
		{"auto pulls kind's image if there is a registry", "auto", "", true, nodeimage.Pinned, ""},
		{"pull pulls kind's image", "pull", "", true, nodeimage.Pinned, ""},
		{"pull without a registry is an error", "pull", "", false, "", "cannot pull " + nodeimage.Pinned},
		{"pull of another version is an error", "pull", "1.36", true, "", "set NODE_IMAGE to an image of https://github.com"},
		{"kind pulls another image by itself", "kindest/node:v1.36.0", "", false, "kindest/node:v1.36.0", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, engine, _ := workspaceWithEngine(t, tc.registry)
			release, err := nodeimage.FindRelease(tc.version)
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.nodeImage(t.Context(), engine, imageChoice{name: tc.choice, release: release, compiled: func() {}})
			if got != tc.want && tc.err == "" {
				t.Errorf("image %q, want %q", got, tc.want)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}

// A private engine is there because the machine's own engine does not work. No registry is asked.
func TestPrivateEngineDoesNotPull(t *testing.T) {
	w, engine, dir := workspaceWithEngine(t, true)
	engine.Private = true
	release, err := nodeimage.FindRelease("")
	if err != nil {
		t.Fatal(err)
	}
	// The folder is no checkout, so the build ends before it begins.
	if image, err := w.nodeImage(t.Context(), engine, imageChoice{name: "auto", release: release}); err == nil {
		t.Fatalf("built %s without a checkout", image)
	}
	commands, err := os.ReadFile(filepath.Join(dir, "commands"))
	if err != nil || strings.Contains(string(commands), "pull ") {
		t.Errorf("error %v, commands:\n%s", err, commands)
	}
}
