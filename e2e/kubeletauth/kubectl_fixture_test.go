// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
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
	// commandTime bounds a kubectl that ends by itself.
	commandTime = time.Minute
	// shown bounds how long what a pod has said may take to be read by a kubectl that
	// follows it.
	shown = 20 * time.Second
)

// command is a call of kubectl as the administrator.
type command struct {
	// environment is VARIABLE=value, and may be empty.
	environment string
	stdin       io.Reader
}

// make is the command, not started yet.
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

// start runs a kubectl that goes on until the spec is over, at the latest.
func start(cmd *exec.Cmd) *gexec.Session {
	GinkgoHelper()
	session, err := gexec.Start(cmd, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Kill().Wait(commandTime) })
	return session
}

// run waits for the end of a kubectl.
func (c command) run(ctx context.Context, args ...string) *gexec.Session {
	GinkgoHelper()
	session := start(c.make(args...))
	Eventually(ctx, session).WithTimeout(commandTime).Should(gexec.Exit(), "kubectl %s", strings.Join(args, " "))
	return session
}

// kubectl is what a kubectl printed that has to succeed.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	session := command{}.run(ctx, args...)
	Expect(session).To(gexec.Exit(0), complaint(session))
	return string(session.Out.Contents())
}

// complaint is what a kubectl wrote to its standard error.
func complaint(session *gexec.Session) string {
	return strings.TrimSpace(string(session.Err.Contents()))
}

// dial connects to an address until the spec is over. A minute bounds what it takes to
// read and write.
func dial(ctx context.Context, address string) net.Conn {
	GinkgoHelper()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(conn.Close)
	Expect(conn.SetDeadline(time.Now().Add(commandTime))).To(Succeed())
	return conn
}
