// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// The paths of the private engine. They belong to the machine, not to a checkout. So images are
// built once for all checkouts, and any checkout can stop the engine.
const (
	runDir    = "/run/bulkhead"
	dataRoot  = "/var/lib/bulkhead/engine"
	wrapper   = "/var/lib/bulkhead/runc-wrapper"
	socket    = runDir + "/docker.sock"
	pidFile   = runDir + "/engine.pid"
	config    = runDir + "/daemon.json"
	daemonLog = runDir + "/dockerd.log"

	// addressPool keeps kind's network outside the other engine's 172.17.0.0/16.
	addresses   = "172.29.0.0/16"
	addressPool = "base=" + addresses + ",size=24"
	// startLimit includes time for the half-stopped containers of a daemon that was killed.
	startLimit = 2 * time.Minute
)

// Build builds a static binary for the platform at output, from a package of this module.
type Build func(ctx context.Context, log io.Writer, platform Platform, pkg, output string) error

// installing is held while apt-get runs: a second apt-get does not wait, it fails.
var installing sync.Mutex

// Install installs Debian packages if their programs are missing. programs maps each program to its
// packages, separated by spaces. It is safe for concurrent use. For the package manager of another process, it waits
// at most 5 minutes.
func Install(ctx context.Context, log io.Writer, programs map[string]string) error {
	installing.Lock()
	defer installing.Unlock()
	var missing, packages []string
	for program, names := range programs {
		if !installed(program) {
			missing = append(missing, program)
			packages = append(packages, strings.Fields(names)...)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	slices.Sort(packages)
	if err := thisMachine(Engine{}).mayInstall(missing, packages); err != nil {
		return err
	}
	update := progress.Command{Args: []string{"apt-get", "update", "-qq"}}
	if err := update.Run(ctx, log); err != nil {
		return err
	}
	return progress.Command{
		Env: []string{"DEBIAN_FRONTEND=noninteractive"},
		Args: append([]string{"apt-get", "install", "-y", "-qq", "--no-install-recommends", "-o",
			"DPkg::Lock::Timeout=300"}, packages...),
	}.Run(ctx, log)
}

// mayInstall returns an error with the command to run if this process cannot install packages.
func (m machine) mayInstall(programs, packages []string) error {
	switch {
	case m.family != "debian":
		return fmt.Errorf("cannot continue without these programs: %s; install them", strings.Join(programs, ", "))
	case !m.root:
		return fmt.Errorf("cannot continue without these programs: %s; run: sudo apt-get install --yes %s",
			strings.Join(programs, ", "), strings.Join(packages, " "))
	}
	return nil
}

func startPrivate(ctx context.Context, log io.Writer, build Build) error {
	if err := Install(ctx, log,
		map[string]string{"dockerd": "docker.io", "docker": "docker.io", "runc": "runc",
			"iptables": "iptables"}); err != nil {
		return err
	}
	for _, dir := range []string{runDir, dataRoot} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return fmt.Errorf("preparing the private engine: %w", err)
		}
	}
	if err := build(ctx, log, Here(), "./kind/host/runc-wrapper", wrapper); err != nil {
		return err
	}
	// Use a separate configuration: the machine's daemon.json belongs to another daemon.
	if err := os.WriteFile(config, []byte("{}\n"), 0o600); err != nil {
		return fmt.Errorf("preparing the private engine: %w", err)
	}
	if err := letNodesTalk(ctx, log); err != nil {
		return err
	}
	if err := forgetDead("/proc", pidFiles...); err != nil {
		return err
	}
	ended, err := startDaemon()
	if err != nil {
		return err
	}
	return waitForDaemon(ctx, log, ended)
}

// nodesTalk accepts packets between containers of the private engine. The machine's own engine
// makes the kernel drop packets that no rule accepts.
var nodesTalk = []string{"FORWARD", "--source", addresses, "--destination", addresses, "--jump", "ACCEPT"}

func letNodesTalk(ctx context.Context, log io.Writer) error {
	if iptables("--check").Run(ctx, log) == nil {
		return nil
	}
	return iptables("--insert").Run(ctx, log)
}

func iptables(do string) progress.Command {
	return progress.Command{Args: append([]string{"iptables", "--wait", do}, nodesTalk...)}
}
