// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A fake client prints this answer to info, and writes each command to a file. It refuses privileged
// containers if a file refuse or refuse.CLIENT exists. With the socket of the private engine, it
// answers if the file private.info exists.
const fakeClient = `#!/bin/sh
here=$(dirname "$0")
echo "$(basename "$0") $*" >>"$here/commands"
case "$1" in
info) engine=$(basename "$0")
  [ -z "$DOCKER_HOST" ] || engine=private
  if [ -e "$here/$engine.info" ]; then cat "$here/$engine.info"; else
  echo "Cannot connect to the engine" >&2; exit 1; fi ;;
image) exit 1 ;;
import) cat >/dev/null ;;
ps) if [ "$4" = label=io.x-k8s.kind.cluster ]; then echo a b c d e; else echo d e; fi ;;
run) [ ! -e "$here/refuse" ] && [ ! -e "$here/refuse.$(basename "$0")" ] ;;
esac
`

const (
	armDocker = `{"OSType":"linux","Architecture":"aarch64","MemTotal":8589934592,"CgroupVersion":"2",` +
		`"MemoryLimit":true,"PidsLimit":true,"CPUShares":true}`
	armPodman = `{"host":{"os":"linux","arch":"arm64","cgroupVersion":"v2"}}`
)

// fakeEngines makes clients the only programs of that kind in PATH. infos are the engines that answer.
func fakeEngines(t *testing.T, clients []string, infos map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, client := range clients {
		if err := os.WriteFile(filepath.Join(dir, client), []byte(fakeClient), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for client, info := range infos {
		write(t, filepath.Join(dir, client+".info"), info)
	}
	for _, program := range []string{"sh", "dirname", "basename", "cat"} {
		link(t, program, dir)
	}
	t.Setenv("PATH", dir)
	t.Setenv("DOCKER_HOST", "")
	t.Setenv(ProviderVariable, "")
	return dir
}

func link(t *testing.T, program, dir string) {
	t.Helper()
	for _, bin := range []string{"/bin", "/usr/bin"} {
		if _, err := os.Stat(filepath.Join(bin, program)); err == nil {
			if err := os.Symlink(filepath.Join(bin, program), filepath.Join(dir, program)); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("this machine has no %s", program)
}

// recordPlatform is a [Build] that writes an empty program.
func recordPlatform(platforms *[]Platform) Build {
	return func(_ context.Context, _ io.Writer, platform Platform, _, output string) error {
		*platforms = append(*platforms, platform)
		return os.WriteFile(output, nil, 0o600)
	}
}

func TestFindTakesTheMachinesOwnEngine(t *testing.T) {
	for _, tc := range []struct {
		name, chosen, client string
		clients              []string
		infos                map[string]string
	}{
		{"Docker", "", "docker", []string{"docker"}, map[string]string{"docker": armDocker}},
		{"Docker before podman", "", "docker", []string{"podman", "docker"},
			map[string]string{"docker": armDocker, "podman": armPodman}},
		{"podman chosen", "podman", "podman", []string{"podman", "docker"},
			map[string]string{"docker": armDocker, "podman": armPodman}},
		{"podman, because no Docker engine answers", "", "podman", []string{"podman", "docker"},
			map[string]string{"podman": armPodman}},
		{"finch chosen", "finch", "finch", []string{"finch"}, map[string]string{"finch": armDocker}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := fakeEngines(t, tc.clients, tc.infos)
			t.Setenv(ProviderVariable, tc.chosen)
			var built []Platform
			engine, err := Find(t.Context(), io.Discard, recordPlatform(&built))
			if err != nil {
				t.Fatal(err)
			}
			if engine.Client() != tc.client || engine.Private || engine.Why != "" || engine.Host != "" {
				t.Errorf("engine %+v", engine)
			}
			arm := Platform{OS: "linux", Arch: "arm64"}
			if engine.Info.Platform != arm || len(built) != 1 || built[0] != arm {
				t.Errorf("platform %v, built for %v", engine.Info.Platform, built)
			}
			commands, err := os.ReadFile(filepath.Join(dir, "commands"))
			want := tc.client + " run --rm --privileged --network none bulkhead.local/probe:1-arm64 /probe\n"
			if err != nil || !strings.HasSuffix(string(commands), want) {
				t.Errorf("error %v, commands:\n%s", err, commands)
			}
			if running, found := Running(t.Context(), io.Discard); !found || running != engine {
				t.Errorf("Running: %+v, %v", running, found)
			}
		})
	}
}

// A cluster in the private engine must stay the only one, also when the machine's own engine works
// again.
func TestFindKeepsThePrivateEngineThatRuns(t *testing.T) {
	fakeEngines(t, []string{docker}, map[string]string{docker: armDocker, "private": armDocker})
	engine, err := Find(t.Context(), io.Discard, recordPlatform(new([]Platform)))
	if err != nil || !engine.Private || !strings.Contains(engine.Why, "already runs") {
		t.Errorf("error %v, engine %+v", err, engine)
	}
	if running, found := Running(t.Context(), io.Discard); !found || !running.Private {
		t.Errorf("Running: %+v, %v", running, found)
	}
}

func TestAnEngineThatTheUserHasChosenComesFirst(t *testing.T) {
	fakeEngines(t, []string{podman}, map[string]string{podman: armPodman, "private": armDocker})
	t.Setenv(ProviderVariable, podman)
	if engine, err := Find(t.Context(), io.Discard, recordPlatform(new([]Platform))); err != nil || engine.Private {
		t.Errorf("error %v, engine %+v", err, engine)
	}
}

func TestFindTriesEachEngineThatAnswers(t *testing.T) {
	dir := fakeEngines(t, []string{docker, podman}, map[string]string{docker: armDocker, podman: armPodman})
	write(t, filepath.Join(dir, "refuse."+docker), "")
	engine, err := Find(t.Context(), io.Discard, recordPlatform(new([]Platform)))
	if err != nil || engine.Client() != podman || engine.Private {
		t.Errorf("error %v, engine %+v", err, engine)
	}
}

func TestNodesOfOtherClustersAreCounted(t *testing.T) {
	dir := fakeEngines(t, []string{docker}, nil)
	others, err := (Engine{}).OtherNodes(t.Context(), io.Discard, "own")
	if err != nil || others != 3 {
		t.Errorf("%d other nodes, %v, want 3 of 5", others, err)
	}
	asked, err := os.ReadFile(filepath.Join(dir, "commands"))
	if err != nil || !strings.Contains(string(asked), "label=io.x-k8s.kind.cluster=own") {
		t.Errorf("it did not list the nodes of the cluster itself: %s, %v", asked, err)
	}
	if err := os.Remove(filepath.Join(dir, docker)); err != nil {
		t.Fatal(err)
	}
	if _, err := (Engine{}).OtherNodes(t.Context(), io.Discard, "own"); err == nil {
		t.Error("no error without an engine")
	}
}

// With podman chosen there is never a private engine, also for root on Debian.
func TestFindExplainsWhatIsMissing(t *testing.T) {
	for _, tc := range []struct {
		name, chosen, refuse string
		infos                map[string]string
		want                 []string
	}{
		{"no answer", "podman", "", nil,
			[]string{"cannot run nodes with podman: no engine answers", "a private engine is a Docker engine", "podman"}},
		{"no privileges", "podman", "refuse", map[string]string{"podman": armPodman},
			[]string{"the engine refuses privileged containers", "podman run --rm --privileged IMAGE"}},
		{"another architecture", "podman", "", map[string]string{"podman": `{"host":{"os":"linux","arch":"riscv64"}}`},
			[]string{"cannot run nodes on linux/riscv64"}},
		{"an engine that kind does not know", "lxc", "", nil, []string{`cannot use the engine "lxc"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := fakeEngines(t, []string{"podman"}, tc.infos)
			t.Setenv(ProviderVariable, tc.chosen)
			if tc.refuse != "" {
				write(t, filepath.Join(dir, tc.refuse), "")
			}
			engine, err := Find(t.Context(), io.Discard, recordPlatform(new([]Platform)))
			if err == nil {
				t.Fatalf("found %+v", engine)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
		})
	}
}
