// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// rollbackTime is how long a block may run on after an interrupt. `bulkhead install` restores the
// old manifest of kube-apiserver, and waits until the server is healthy.
const rollbackTime = 3 * time.Minute

// shell runs scripts on one machine.
type shell struct {
	name string
	// argv is the command that runs bash there, with the script as its standard input.
	argv []string
	// pidFile is where a script writes its process ID. It is empty for this machine.
	pidFile string
	// interrupt is the command that sends SIGINT to the process group of a script. If it is empty,
	// a signal to the process group of argv is enough.
	interrupt []string
}

// local runs scripts on this machine, in the current directory.
func local() shell {
	return shell{name: "this machine", argv: []string{"bash", "-euo", "pipefail", "-s"}}
}

// inContainer runs scripts as root in the container of a kind node. setsid gives the script a
// process group of its own, and the script writes its ID: `docker exec` does not pass on a signal.
func inContainer(name string) shell {
	return containerShell(name, "/run/docsrun.pid")
}

func containerShell(name, pidFile string) shell {
	return shell{
		name: name,
		argv: []string{"docker", "exec", "--interactive", "--workdir=/root", name,
			"setsid", "--wait", "bash", "-euo", "pipefail", "-s"},
		pidFile: pidFile,
		interrupt: []string{"docker", "exec", name,
			"bash", "-c", `kill -INT -- "-$(cat ` + pidFile + `)"`},
	}
}

// run runs a script and returns its output and its exit code. The error is for a script that did not
// run to its end. When ctx ends, run interrupts the script and waits for its rollback.
func (s shell) run(ctx context.Context, text string) (output string, code int, err error) {
	cmd := exec.CommandContext(ctx, s.argv[0], s.argv[1:]...)
	cmd.Stdin = strings.NewReader(text)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// Ctrl-C in a terminal reaches only this program, which then interrupts the script once.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return s.stop(cmd) }
	cmd.WaitDelay = rollbackTime
	err = cmd.Run()
	var exited *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out.String(), -1, fmt.Errorf("interrupted: %w", context.Cause(ctx))
	case errors.As(err, &exited) && exited.Exited():
		return out.String(), exited.ExitCode(), nil
	case err != nil:
		return out.String(), -1, fmt.Errorf("cannot run bash on %s: %w", s.name, err)
	}
	return out.String(), 0, nil
}

func (s shell) stop(cmd *exec.Cmd) error {
	if len(s.interrupt) == 0 {
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := exec.CommandContext(ctx, s.interrupt[0], s.interrupt[1:]...).Run(); err != nil {
		// The script has no process group yet, or the container is gone.
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	return nil
}

// kindShells returns a shell for each control-plane host and for each node of a kind cluster.
func kindShells(ctx context.Context, cluster string) (controlPlane, nodes []shell, err error) {
	out, err := exec.CommandContext(ctx, "docker", "ps", "--filter=label=io.x-k8s.kind.cluster="+cluster,
		`--format={{.Label "io.x-k8s.kind.role"}} {{.Names}}`).Output()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot list the nodes of the kind cluster %s: %w", cluster, err)
	}
	for line := range strings.Lines(string(out)) {
		role, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch role {
		case "control-plane":
			controlPlane = append(controlPlane, inContainer(name))
			nodes = append(nodes, inContainer(name))
		case "worker":
			nodes = append(nodes, inContainer(name))
		}
	}
	if len(controlPlane) == 0 {
		return nil, nil, fmt.Errorf("there is no kind cluster %s that runs: create it first", cluster)
	}
	return controlPlane, nodes, nil
}

// script is a block as a program for bash. The program prints a separator after each command, and
// at the end the variables that the block has set. The separator is random, so no output contains
// it.
type script struct {
	separator string
	text      string
}

// variable matches an assignment that later blocks may use. Only upper case counts: a reader sees
// that the page means a setting.
var variable = regexp.MustCompile(`(?m)^(?:export )?([A-Z][A-Z0-9_]*)=`)

// newScript returns the script of a block. before sets the variables of the blocks before it. pidFile
// is a file for the process ID, or empty.
func newScript(b Block, before, pidFile string) script {
	s := script{separator: "docsrun-" + rand.Text()}
	var text strings.Builder
	// Bash reads a group of commands completely before it runs it. So no command reads the rest of
	// the script as its input, and a syntax error is found before anything has changed.
	text.WriteString("{\nexec 2>&1\n")
	if pidFile != "" {
		fmt.Fprintf(&text, "echo $$ >%s\n", pidFile)
	}
	text.WriteString(before)
	var names []string
	for _, c := range b.Commands {
		fmt.Fprintf(&text, "%s\nprintf '%%s\\n' %s\n", c.Text, s.separator)
		for _, m := range variable.FindAllStringSubmatch(c.Text, -1) {
			if !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
		}
	}
	for _, name := range names {
		fmt.Fprintf(&text, "declare -p %s\n", name)
	}
	text.WriteString("} </dev/null\n")
	s.text = text.String()
	return s
}

// split returns the output of each command, and the variables. If the script has failed, the last
// output is that of the failed command, and there are no variables.
func (s script) split(output string, commands int) (outputs []string, variables string) {
	outputs = strings.Split(output, s.separator+"\n")
	if len(outputs) == commands+1 {
		return outputs[:commands], outputs[commands]
	}
	return outputs, ""
}
