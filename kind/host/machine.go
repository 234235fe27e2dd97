// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strings"
)

// machine is what decides whether a private engine can be prepared, and which command repairs the
// machine's own engine.
type machine struct {
	goos string
	// family is the family of the Linux distribution: debian, fedora, or empty.
	family string
	wsl    bool
	root   bool
	// chosen is the value of ProviderVariable.
	chosen string
	// client is the program of the machine's own engine. It may not be installed.
	client    string
	installed bool
}

func thisMachine(own Engine) machine {
	release, _ := os.ReadFile("/etc/os-release")
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return machine{
		goos: runtime.GOOS, family: family(release), wsl: bytes.Contains(bytes.ToLower(kernel), []byte("microsoft")),
		root: os.Geteuid() == 0, chosen: os.Getenv(ProviderVariable),
		client: own.Client(), installed: installed(own.Client()),
	}
}

// family returns the family of the distribution that /etc/os-release describes.
func family(release []byte) string {
	ids := map[string]bool{}
	for line := range strings.Lines(string(release)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name == "ID" || name == "ID_LIKE" {
			for _, id := range strings.Fields(strings.Trim(value, `"'`)) {
				ids[id] = true
			}
		}
	}
	switch {
	case ids["debian"]:
		return "debian"
	case ids["fedora"], ids["rhel"]:
		return "fedora"
	}
	return ""
}

// mayPrepare returns nil if a private engine can be prepared here. It takes root, because it runs
// beside the machine's own engine, and Debian's packages.
func (m machine) mayPrepare() error {
	switch {
	case m.chosen != "" && m.chosen != docker:
		return fmt.Errorf("a private engine is a Docker engine, and %s is %s", ProviderVariable, m.chosen)
	case m.goos != "linux":
		return errors.New("a private engine is for Linux only")
	case m.family != "debian":
		return errors.New("a private engine is for Debian and Ubuntu only")
	case !m.root:
		return errors.New("a private engine takes root")
	}
	return nil
}

// The reasons why an engine cannot be used.
var (
	errPlatform     = errors.New("cannot run nodes on")
	errNoAnswer     = errors.New("no engine answers")
	errNoPermission = errors.New("the engine's socket may not be opened by this user")
	errNoPrivileges = errors.New("the engine refuses privileged containers, which kind needs")
)

// repair returns what makes the machine's own engine usable after this error, as a command where
// there is one.
func (m machine) repair(cause error) string {
	switch {
	case errors.Is(cause, errNoPermission) && m.client != docker:
		return "run it as a user who may use the engine: " + m.client + " info"
	case errors.Is(cause, errNoPermission):
		return fmt.Sprintf("run: sudo usermod -aG docker %s && newgrp docker", userName())
	case errors.Is(cause, errNoPrivileges):
		return "use a machine whose engine runs this: " + m.client + " run --rm --privileged IMAGE"
	case m.client != docker && !m.installed:
		return "install " + m.client + ", or unset " + ProviderVariable
	case m.goos == "darwin" && m.client == podman:
		return "run: podman machine init --rootful --memory 4096; podman machine start"
	case m.goos == "darwin" && m.client == "finch":
		return "run: finch vm init; finch vm start"
	case m.goos == "darwin" && m.client != docker:
		return "see what is wrong: " + m.client + " info"
	case m.goos == "darwin" && m.installed:
		return "start Docker Desktop: open -a Docker"
	case m.goos == "darwin":
		return "install Docker Desktop: brew install --cask docker-desktop && open -a Docker"
	case m.wsl && !m.installed:
		return "turn on the WSL integration in Docker Desktop (Settings > Resources), or " + m.install()
	case m.client != docker:
		return "see what is wrong: " + m.client + " info"
	case !m.installed:
		return m.install()
	case m.wsl:
		return "start Docker Desktop, or run: sudo service docker start"
	}
	return "run: sudo systemctl enable --now docker"
}

func (m machine) install() string {
	switch m.family {
	case "debian":
		return "run: sudo apt-get install --yes docker.io"
	case "fedora":
		return "run: sudo dnf install --assumeyes moby-engine && sudo systemctl enable --now docker"
	}
	return "install Docker: https://docs.docker.com/engine/install"
}

func userName() string {
	if current, err := user.Current(); err == nil {
		return current.Username
	}
	return "$USER"
}
