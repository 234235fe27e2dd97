// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// echoAndLogScript answers each line, and also writes it to the log of its container.
	echoAndLogScript = `while read -r line; do echo "heard $line"; echo "told $line" >/proc/1/fd/1; done`
	// streamEndTimeout bounds the time until a kubectl command notices the end of its stream. It is
	// longer than the drain timeout of the proxy plus the grace period of a pod.
	streamEndTimeout = 30 * time.Second
	// kubeletRestartTimeout bounds how long the kubelet's API may be unavailable after a restart.
	kubeletRestartTimeout = 4 * time.Minute
)

// kubectlStreams is the traffic between kubectl and a pod during a disruption: a followed log, and
// a command that answers.
type kubectlStreams struct {
	pod          *corev1.Pod
	log, command *gexec.Session
	input        io.Writer
}

// startStreams starts both with a new pod on the worker.
func startStreams(ctx context.Context, tweaks ...fixtures.PodTweak) *kubectlStreams {
	GinkgoHelper()
	suite.AwaitProxies(ctx)
	tweaks = append([]fixtures.PodTweak{withShell(tickScript)}, tweaks...)
	c := &kubectlStreams{pod: running(ctx, suite.Env().Pod(ctx, suite.Worker, tweaks...))}
	c.begin(ctx)
	return c
}

// begin starts both streams, and checks that both transfer data.
func (c *kubectlStreams) begin(ctx context.Context) {
	GinkgoHelper()
	c.log = start(command{}.make(in(c.pod, "logs", shell, "--follow", "--tail=1")...))
	// The log starts with one earlier line. This proves that it follows before the test writes a
	// word, which would otherwise be lost.
	Eventually(ctx, c.log.Out).WithTimeout(outputTimeout).Should(gbytes.Say("tick\n"), atFailure(c.log))
	talking := command{}.make(in(c.pod, "exec", shell, "--stdin", "--", "sh", "-c", echoAndLogScript)...)
	c.input = must(talking.StdinPipe())
	c.command = start(talking)
	c.expectData(ctx)
}

// expectData checks that both streams transfer new data.
func (c *kubectlStreams) expectData(ctx context.Context) {
	GinkgoHelper()
	word := rand.Text()
	Expect(fmt.Fprintln(c.input, word)).Error().NotTo(HaveOccurred(), stderrOf(c.command))
	Eventually(ctx, c.command.Out).WithTimeout(outputTimeout).Should(gbytes.Say("heard "+word), atFailure(c.command))
	Eventually(ctx, c.log.Out).WithTimeout(outputTimeout).Should(gbytes.Say("told "+word), atFailure(c.log))
}

// awaitEnd waits for the end of both streams, and adds kubectl's result to the report.
func (c *kubectlStreams) awaitEnd(ctx context.Context, why string) {
	GinkgoHelper()
	Eventually(ctx, c.log).WithTimeout(streamEndTimeout).Should(gexec.Exit(), "the log ends with "+why)
	Eventually(ctx, c.command).WithTimeout(streamEndTimeout).Should(gexec.Exit(), "the command ends with "+why)
	for name, session := range map[string]*gexec.Session{"logs -f": c.log, "exec": c.command} {
		message := stderrOf(session)
		Measured("kubectl "+name+" through "+why,
			fmt.Sprintf("exit code %d; %s", session.ExitCode(), message[strings.LastIndex(message, "\n")+1:]))
	}
}

// expectCut waits for the end of both streams while their containers continue to run. The API
// server ends the log as if it were complete. So kubectl reports an error only for the command.
func (c *kubectlStreams) expectCut(ctx context.Context, by string) {
	GinkgoHelper()
	c.awaitEnd(ctx, by)
	Expect(c.log).To(gexec.Exit(0), stderrOf(c.log))
	Expect(c.command).To(gexec.Exit(1), stderrOf(c.command))
	Expect(stderrOf(c.command)).To(ContainSubstring("unexpected EOF"))
}

// expectRecovery waits until the kubelet's API serves the pod again, for both streams. It adds the
// time since the disruption to the report.
func (c *kubectlStreams) expectRecovery(ctx context.Context, why string, since time.Time) {
	GinkgoHelper()
	Eventually(ctx, func() *gexec.Session {
		return command{}.run(ctx, in(c.pod, "exec", shell, "--", "true")...)
	}).WithTimeout(kubeletRestartTimeout).WithPolling(200*time.Millisecond).Should(gexec.Exit(0), "exec after "+why)
	Measured("until kubectl exec works again after "+why, time.Since(since).Round(100*time.Millisecond).String())
	c.begin(ctx)
}

// expectUnreachable checks kubectl's error while the kubelet's API cannot be reached. Each command
// must fail at once.
func (c *kubectlStreams) expectUnreachable(ctx context.Context) {
	GinkgoHelper()
	for _, args := range [][]string{in(c.pod, "logs", shell, "--tail=1"), in(c.pod, "exec", shell, "--", "true")} {
		ended := command{}.run(ctx, args...)
		Expect(ended).NotTo(gexec.Exit(0), "kubectl %s reached the kubelet", args[0])
		Expect(ended.Out.Contents()).To(BeEmpty())
		Measured("kubectl "+args[0]+" meanwhile", strings.ReplaceAll(stderrOf(ended), "\n", " "))
	}
}
