// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startDaemon starts dockerd, which keeps running after this process. The channel gets the result
// if the daemon ends first.
func startDaemon() (ended <-chan error, err error) {
	out, err := os.OpenFile(daemonLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("preparing the private engine: %w", err)
	}
	defer func() { _ = out.Close() }()
	//nolint:noctx // the daemon is meant to outlive this process
	cmd := exec.Command("dockerd", "--config-file", config,
		"--data-root", dataRoot, "--exec-root", filepath.Join(runDir, "engine"),
		"--pidfile", pidFile, "--host", "unix://"+socket,
		"--bridge", "none", "--mtu", "1400", "--default-address-pool", addressPool,
		// At its start, an engine clears its iptables chains. That would remove the published ports
		// of the machine's own containers.
		"--iptables=false", "--ip6tables=false",
		"--add-runtime", "relaxed="+wrapper, "--default-runtime", "relaxed",
		"--containerd-namespace", "bulkhead", "--containerd-plugins-namespace", "bulkhead-plugins")
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the private engine: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return done, nil
}

func (e Engine) answers(ctx context.Context, log io.Writer) bool {
	_, err := e.ask(ctx, log)
	return err == nil
}

func waitForDaemon(ctx context.Context, log io.Writer, ended <-chan error) error {
	engine := privateEngine()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for !engine.answers(ctx, log) {
		select {
		case err := <-ended:
			return fmt.Errorf("the private engine did not start (%w): %s; see %s", err, lastLine(daemonLog), daemonLog)
		case <-ctx.Done():
			return fmt.Errorf("the private engine did not answer within %s: %s; see %s", startLimit, lastLine(daemonLog),
				daemonLog)
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}

// lastLine returns the last line of a log. It usually contains the cause of the failure.
func lastLine(file string) string {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return lines[len(lines)-1]
}

// StopIfIdle stops the private engine if it runs and has no containers. Its images stay, so that
// the next start is quick.
func StopIfIdle(ctx context.Context, log io.Writer) (stopped bool, err error) {
	engine := privateEngine()
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
		// A daemon that this process started becomes a zombie: reap it.
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
