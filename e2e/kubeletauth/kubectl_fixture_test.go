// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

const (
	// commandTime bounds a kubectl command that ends by itself, also one that waits for pods.
	commandTime = 8 * time.Minute
	// outputTimeout bounds the time until a kubectl that follows a pod reads its output, also while other
	// clusters start on the same machine.
	outputTimeout = time.Minute
)

// command is a kubectl command as the administrator.
type command struct {
	// environment is VARIABLE=value, or empty.
	environment string
	stdin       io.Reader
}

// make returns the command. It does not start it.
func (c command) make(args ...string) *exec.Cmd {
	GinkgoHelper()
	program, err := exec.LookPath("kubectl")
	Expect(err).NotTo(HaveOccurred(), `kubectl has to be on the PATH: eval "$(make env)"`)
	cmd := exec.Command(program, append([]string{"--kubeconfig=" + suite.Settings.Kubeconfig}, args...)...)
	cmd.Env, cmd.Stdin = os.Environ(), c.stdin
	if c.environment != "" {
		cmd.Env = append(cmd.Env, c.environment)
	}
	return cmd
}

// start starts a kubectl command. It is killed at the latest when the spec ends.
func start(cmd *exec.Cmd) *gexec.Session {
	GinkgoHelper()
	session, err := gexec.Start(cmd, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Kill().Wait(commandTime) })
	return session
}

// run runs a kubectl command until it exits.
func (c command) run(ctx context.Context, args ...string) *gexec.Session {
	GinkgoHelper()
	session := start(c.make(args...))
	Eventually(ctx, session).WithTimeout(commandTime).Should(gexec.Exit(), "kubectl %s", strings.Join(args, " "))
	return session
}

// kubectl runs a kubectl command that must succeed, and returns its output.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	session := command{}.run(ctx, args...)
	Expect(session).To(gexec.Exit(0), stderrOf(session))
	return string(session.Out.Contents())
}

// stderrOf returns what a kubectl command wrote to its standard error.
func stderrOf(session *gexec.Session) string {
	return strings.TrimSpace(string(session.Err.Contents()))
}

// atFailure describes a kubectl command that still runs when an assertion fails.
func atFailure(session *gexec.Session) func() string {
	return func() string {
		return fmt.Sprintf("%s\nexit code %d (-1: it runs)\n%s", strings.Join(session.Command.Args, " "), session.ExitCode(),
			stderrOf(session))
	}
}

// dial connects to an address. The connection is closed when the spec ends. Reads and writes fail
// after a minute.
func dial(ctx context.Context, address string) net.Conn {
	GinkgoHelper()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(conn.Close)
	Expect(conn.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
	return conn
}
