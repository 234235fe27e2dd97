// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

// settings are what `make up` can install.
type settings struct {
	profile               string
	kubeletAPI, nodeScope bool
}

// cluster is the reference cluster in a Docker engine.
type cluster struct {
	engine host.Engine
	// image is the node image. `make up` would create the cluster again with another one.
	image string
	// hardeningOff are the hardening settings that the cluster was created without. `make up` would
	// create it again with another list.
	hardeningOff string
}

const makeUp = "create the cluster with `make up` first"

// connect finds the cluster that is up. It changes nothing.
func connect(ctx context.Context) (*cluster, error) {
	engine, running := host.Running(ctx, io.Discard)
	if !running {
		return nil, errors.New("cannot find the cluster: no Docker engine runs; " + makeUp)
	}
	c := &cluster{engine: engine}
	// `make up` writes this file when the cluster is complete.
	marker, err := c.output(ctx, controlPlane, "cat /kind/bulkhead-created-from")
	if err != nil {
		return nil, fmt.Errorf("cannot find the cluster: %w; %s", err, makeUp)
	}
	c.image, c.hardeningOff = createdFrom(marker)
	return c, nil
}

// createdFrom reads what `make up` wrote: the node image, and the hardening settings of the cluster.
func createdFrom(marker string) (image, hardeningOff string) {
	fields := strings.Fields(marker)
	if len(fields) == 0 {
		return "", ""
	}
	on := fields[1:]
	off := slices.DeleteFunc(refcluster.AllHardening(), func(name string) bool { return slices.Contains(on, name) })
	return fields[0], strings.Join(off, ",")
}

// workDir is the directory of the commands on a node. It has what kubectl caches.
const workDir = "/tmp/bulkhead-demo"

// script returns the command that runs bash on a node, with the credentials of its part in the
// story.
func (c *cluster) script(ctx context.Context, node, script string) *exec.Cmd {
	kubeconfig := "/etc/kubernetes/kubelet.conf"
	if node == controlPlane {
		kubeconfig = "/etc/kubernetes/admin.conf"
	}
	script = "mkdir -p " + workDir + " && cd " + workDir + " || exit 1\n" + script
	cmd := exec.CommandContext(ctx, "docker", "exec", "--env=KUBECONFIG="+kubeconfig, "--env=HOME="+workDir, node,
		"bash", "-c", script)
	cmd.Env = append(os.Environ(), c.engine.Env()...)
	return interruptible(cmd, 5*time.Second)
}

// interruptible gives the command its own process group, so that only this program gets Ctrl-C. When
// the context ends, the group is interrupted, and has this long to end by itself.
func interruptible(cmd *exec.Cmd, rollback time.Duration) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = rollback
	return cmd
}

// run is of [runner].
func (c *cluster) run(ctx context.Context, node, script string) (string, error) {
	out, err := c.script(ctx, node, script).CombinedOutput()
	var exited *exec.ExitError
	if ctx.Err() != nil {
		return string(out), ctx.Err()
	}
	if err != nil && !errors.As(err, &exited) {
		return string(out), fmt.Errorf("cannot run a command on %s: %w", node, err)
	}
	return string(out), nil
}

// output runs a script that must not fail.
func (c *cluster) output(ctx context.Context, node, script string) (string, error) {
	out, err := c.script(ctx, node, script).CombinedOutput()
	if err != nil {
		return "", errors.Join(ctx.Err(), fmt.Errorf("on %s: %w: %s", node, err, strings.TrimSpace(printable(string(out)))))
	}
	return string(out), nil
}

// installed returns the settings of the cluster. If it has a setting that `make up` would lose, it
// returns an error.
func (c *cluster) installed(ctx context.Context) (settings, error) {
	text, err := c.output(ctx, controlPlane, "bulkhead status -o yaml")
	if err != nil {
		return settings{}, fmt.Errorf("cannot read what is installed: %w; run `make up` to repair it", err)
	}
	return parseInstalled(text)
}

func parseInstalled(text string) (settings, error) {
	// These fields have the value of `make up`, or one that it sets.
	var is struct {
		APIVersion   string            `json:"apiVersion"`
		Kind         string            `json:"kind"`
		Profile      string            `json:"profile"`
		Image        string            `json:"image"`
		Certificates map[string]string `json:"certificates"`
		KubeletAPI   struct {
			Enabled bool `json:"enabled"`
		} `json:"kubeletAPI"`
		NodeScope struct {
			Enabled bool `json:"enabled"`
		} `json:"nodeScope"`
	}
	if err := yaml.UnmarshalStrict([]byte(text), &is); err != nil {
		return settings{}, fmt.Errorf("cannot switch the profile: the installation has a setting that `make up` would not "+
			"put back: %w; run the demo on a cluster of `make up`", err)
	}
	return settings{is.Profile, is.KubeletAPI.Enabled, is.NodeScope.Enabled}, nil
}

// rollbackTime is how long an interrupted `make up` has to put the old profile back.
const rollbackTime = 4 * time.Minute

// switchTo runs `make up` with these settings. step gets each line that says what has been done.
func (c *cluster) switchTo(ctx context.Context, want settings, step func(line string)) error {
	cmd := interruptible(exec.CommandContext(ctx, "make", "up", "PROFILE="+want.profile), rollbackTime)
	for _, variable := range os.Environ() {
		// The settings of `make demo` are not for this make.
		if name, _, _ := strings.Cut(variable, "="); name != "MAKEFLAGS" && name != "MAKELEVEL" && name != "MFLAGS" {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "NODE_IMAGE="+c.image, "HARDENING_OFF="+c.hardeningOff,
		fmt.Sprintf("KUBELET_API=%t", want.kubeletAPI), fmt.Sprintf("NODE_SCOPE=%t", want.nodeScope),
		// The demo gives nodes a right by RBAC, and shows that Bulkhead denies it. Preflight warns of this.
		"INSTALL_FLAGS=--ignore-preflight-errors=rights-of-nodes-by-RBAC")
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	all := make(chan []string)
	go func() { all <- follow(reader, step) }()
	err := cmd.Run()
	_ = writer.Close()
	lines := <-all
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("cannot switch to %s: make up: %w\n%s", want.profile, err,
			strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	return nil
}

// shownLine matches the lines of `make up` that say what is done. Other lines have paths of this
// machine.
var shownLine = regexp.MustCompile(`^  ✓ |^Another run|^The cluster is up|^    interrupting| so far$`)

// follow calls step for the lines that have no path of this machine, and returns all lines.
func follow(from io.Reader, step func(string)) (all []string) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		line := lines.Text()
		all = append(all, line)
		if shownLine.MatchString(line) {
			step(line)
		}
	}
	// A line that is too long ends the scanner. The rest is still read, so that make can go on.
	_, _ = io.Copy(io.Discard, from)
	return all
}
