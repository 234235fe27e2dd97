// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

// Where the private engine lives. The places are the machine's, not a
// checkout's: images are built once and shared, and any checkout can stop it.
const (
	runDir    = "/run/bulkhead"
	dataRoot  = "/var/lib/bulkhead/engine"
	wrapper   = "/var/lib/bulkhead/runc-wrapper"
	socket    = runDir + "/docker.sock"
	pidFile   = runDir + "/engine.pid"
	config    = runDir + "/daemon.json"
	daemonLog = runDir + "/dockerd.log"

	// addressPool keeps kind's network out of the other engine's 172.17.0.0/16.
	addresses   = "172.29.0.0/16"
	addressPool = "base=" + addresses + ",size=24"
	startLimit  = 30 * time.Second
)

// Build makes a static binary at output from a package of this module.
type Build func(ctx context.Context, log io.Writer, pkg, output string) error

func canPrepare() error {
	if os.Geteuid() != 0 {
		return errors.New("it takes root; run as root, or use a Docker that may run privileged containers")
	}
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		return errors.New("it is only known for Debian; use a Docker that may run privileged containers")
	}
	return nil
}

// Install puts Debian packages on the machine if the programs are missing. It
// takes, for each program, its packages with spaces between them.
func Install(ctx context.Context, log io.Writer, programs map[string]string) error {
	var missing []string
	for program, pkg := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, strings.Fields(pkg)...)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := canPrepare(); err != nil {
		return fmt.Errorf("the Debian packages %s are missing: %w", strings.Join(missing, ", "), err)
	}
	update := progress.Command{Args: []string{"apt-get", "update", "-qq"}}
	if err := update.Run(ctx, log); err != nil {
		return err
	}
	return progress.Command{
		Env:  []string{"DEBIAN_FRONTEND=noninteractive"},
		Args: append([]string{"apt-get", "install", "-y", "-qq", "--no-install-recommends"}, missing...),
	}.Run(ctx, log)
}

func startPrivate(ctx context.Context, log io.Writer, build Build) error {
	if err := Install(ctx, log, map[string]string{"dockerd": "docker.io", "docker": "docker.io", "runc": "runc", "iptables": "iptables"}); err != nil {
		return err
	}
	for _, dir := range []string{runDir, dataRoot} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return fmt.Errorf("preparing the private engine: %w", err)
		}
	}
	if err := build(ctx, log, "./kind/host/runc-wrapper", wrapper); err != nil {
		return err
	}
	// A configuration of its own: the machine's daemon.json is another daemon's.
	if err := os.WriteFile(config, []byte("{}\n"), 0o600); err != nil {
		return fmt.Errorf("preparing the private engine: %w", err)
	}
	if err := letNodesTalk(ctx, log); err != nil {
		return err
	}
	if err := startDaemon(); err != nil {
		return err
	}
	return waitForDaemon(ctx, log)
}

// nodesTalk accepts what goes from one of our containers to another: the
// machine's own engine has the kernel drop what no rule accepts.
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

// startDaemon leaves dockerd running when this process ends.
func startDaemon() error {
	out, err := os.OpenFile(daemonLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("preparing the private engine: %w", err)
	}
	defer func() { _ = out.Close() }()
	//nolint:noctx // the daemon is meant to outlive this process
	cmd := exec.Command("dockerd", "--config-file", config,
		"--data-root", dataRoot, "--exec-root", filepath.Join(runDir, "engine"),
		"--pidfile", pidFile, "--host", "unix://"+socket,
		"--bridge", "none", "--mtu", "1400", "--default-address-pool", addressPool,
		// An engine that starts clears the chains of its kind, and with them the
		// published ports of the machine's own containers.
		"--iptables=false", "--ip6tables=false",
		"--add-runtime", "relaxed="+wrapper, "--default-runtime", "relaxed",
		"--containerd-namespace", "bulkhead", "--containerd-plugins-namespace", "bulkhead-plugins")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the private engine: %w", err)
	}
	return cmd.Process.Release()
}

func waitForDaemon(ctx context.Context, log io.Writer) error {
	engine := Engine{Host: "unix://" + socket}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for !engine.answers(ctx, log) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the private engine did not answer within %s; see %s", startLimit, daemonLog)
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}

// StopIfIdle ends the private engine if it runs and no container is left in it.
// Its images stay, so that the next start is quick.
func StopIfIdle(ctx context.Context, log io.Writer) (stopped bool, err error) {
	engine := Engine{Host: "unix://" + socket, Private: true}
	if !engine.answers(ctx, log) {
		return false, nil
	}
	left, err := engine.Docker("ps", "--all", "--quiet").Output(ctx, log)
	if err != nil || left != "" {
		return false, err
	}
	raw, err := os.ReadFile(pidFile)
	if err != nil {
		return false, fmt.Errorf("stopping the private engine: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return false, fmt.Errorf("stopping the private engine: %s: %w", pidFile, err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return false, fmt.Errorf("stopping the private engine: %w", err)
	}
	if err := waitForExit(ctx, pid); err != nil {
		return false, err
	}
	if iptables("--check").Run(ctx, log) != nil {
		return true, nil
	}
	return true, iptables("--delete").Run(ctx, log)
}

func waitForExit(ctx context.Context, pid int) error {
	for range 100 {
		// A daemon of this process's own would be a zombie: reap it.
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if syscall.Kill(pid, 0) != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("the private engine (process %d) did not stop within 10s", pid)
}
