// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestFamily(t *testing.T) {
	for release, want := range map[string]string{
		"ID=debian\n": "debian",
		"NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n": "debian",
		"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n":    "debian",
		"ID=fedora\n": "fedora",
		"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n": "fedora",
		"ID=arch\n": "",
		"":          "",
	} {
		if got := family([]byte(release)); got != want {
			t.Errorf("%q: %q, want %q", release, got, want)
		}
	}
}

func TestMayPrepareAPrivateEngine(t *testing.T) {
	debian := machine{goos: "linux", family: "debian", root: true, client: "docker", installed: true}
	change := func(edit func(*machine)) machine {
		m := debian
		edit(&m)
		return m
	}
	for _, tc := range []struct {
		name string
		m    machine
		want string
	}{
		{"root on Debian", debian, ""},
		{"Docker chosen", change(func(m *machine) { m.chosen = "docker" }), ""},
		{"podman chosen", change(func(m *machine) { m.chosen, m.client = "podman", "podman" }),
			"a private engine is a Docker"},
		{"not root", change(func(m *machine) { m.root = false }), "takes root"},
		{"Fedora", change(func(m *machine) { m.family = "fedora" }), "for Debian and Ubuntu only"},
		{"macOS", change(func(m *machine) { m.goos, m.family = "darwin", "" }), "for Linux only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.m.mayPrepare()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestRepairNamesTheCommand(t *testing.T) {
	for _, tc := range []struct {
		name  string
		m     machine
		cause error
		want  string
	}{
		{"Debian without Docker", machine{goos: "linux", family: "debian", client: "docker"}, errNoAnswer,
			"run: sudo apt-get install --yes docker.io"},
		{"Fedora without Docker", machine{goos: "linux", family: "fedora", client: "docker"}, errNoAnswer,
			"run: sudo dnf install --assumeyes moby-engine && sudo systemctl enable --now docker"},
		{"another Linux without Docker", machine{goos: "linux", client: "docker"}, errNoAnswer,
			"install Docker: https://docs.docker.com/engine/install"},
		{"stopped on Linux", machine{goos: "linux", family: "debian", client: "docker", installed: true}, errNoAnswer,
			"run: sudo systemctl enable --now docker"},
		{"stopped in WSL2", machine{goos: "linux", wsl: true, client: "docker", installed: true}, errNoAnswer,
			"start Docker Desktop, or run: sudo service docker start"},
		{"WSL2 without Docker", machine{goos: "linux", wsl: true, family: "debian", client: "docker"}, errNoAnswer,
			"turn on the WSL integration in Docker Desktop (Settings > Resources), " +
				"or run: sudo apt-get install --yes docker.io"},
		{"Docker Desktop is stopped", machine{goos: "darwin", client: "docker", installed: true}, errNoAnswer,
			"start Docker Desktop: open -a Docker"},
		{"macOS without Docker", machine{goos: "darwin", client: "docker"}, errNoAnswer,
			"install Docker Desktop: brew install --cask docker-desktop && open -a Docker"},
		{"podman on macOS", machine{goos: "darwin", client: "podman", installed: true}, errNoAnswer,
			"run: podman machine init --rootful --memory 4096; podman machine start"},
		{"podman chosen, and not installed", machine{goos: "linux", client: "podman"}, errNoAnswer,
			"install podman, or unset KIND_EXPERIMENTAL_PROVIDER"},
		{"podman on Linux", machine{goos: "linux", client: "podman", installed: true}, errNoAnswer,
			"see what is wrong: podman info"},
		{"the socket is root's", machine{goos: "linux", client: "docker", installed: true}, errNoPermission,
			"&& newgrp docker"},
		{"podman's socket is another user's", machine{goos: "linux", client: "podman", installed: true}, errNoPermission,
			"run it as a user who may use the engine: podman info"},
		{"finch on macOS", machine{goos: "darwin", client: "finch", installed: true}, errNoAnswer,
			"run: finch vm init; finch vm start"},
		{"no privileges", machine{goos: "linux", client: "docker", installed: true}, errNoPrivileges,
			"docker run --rm --privileged IMAGE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.m.repair(fmt.Errorf("%w: exit status 1", tc.cause))
			if !strings.HasSuffix(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestMayInstall(t *testing.T) {
	programs, packages := []string{"gcc"}, []string{"gcc", "libc6-dev"}
	if err := (machine{family: "debian", root: true}).mayInstall(programs, packages); err != nil {
		t.Errorf("root on Debian: %v", err)
	}
	for _, tc := range []struct {
		m    machine
		want string
	}{
		{machine{family: "debian"}, "programs: gcc; run: sudo apt-get install --yes gcc libc6-dev"},
		{machine{family: "fedora", root: true}, "programs: gcc; install them"},
	} {
		err := tc.m.mayInstall(programs, packages)
		if err == nil || !strings.HasSuffix(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.m, err, tc.want)
		}
	}
}

func TestNoAnswerKnowsPermissions(t *testing.T) {
	failed := errors.New("exit status 1")
	if err := noAnswer(failed, "dial unix /var/run/docker.sock: connect: permission denied"); !errors.Is(err,
		errNoPermission) {
		t.Error(err)
	}
	if err := noAnswer(failed, "Is the docker daemon running?"); !errors.Is(err, errNoAnswer) || !errors.Is(err, failed) {
		t.Error(err)
	}
}
