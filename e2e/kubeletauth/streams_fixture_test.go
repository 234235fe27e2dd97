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
	// repeats answers each line, and also writes it to the log of its container.
	repeats = `while read -r line; do echo "heard $line"; echo "told $line" >/proc/1/fd/1; done`
	// cut bounds the time until a kubectl command notices the end of its stream. It is longer than
	// the drain timeout of the proxy plus the grace period of a pod.
	cut = 30 * time.Second
	// back bounds how long the kubelet's API may be unavailable after a restart.
	back = 90 * time.Second
)

// conversation is the traffic between kubectl and a pod during a disruption: a followed log, and a
// command that answers.
type conversation struct {
	pod          *corev1.Pod
	log, command *gexec.Session
	input        io.Writer
}

// converse starts both with a new pod on the worker.
func converse(ctx context.Context, tweaks ...fixtures.PodTweak) *conversation {
	GinkgoHelper()
	tweaks = append([]fixtures.PodTweak{withShell(tells)}, tweaks...)
	c := &conversation{pod: running(ctx, suite.Scene().Pod(ctx, suite.Worker, tweaks...))}
	c.begin(ctx)
	return c
}

// begin starts both streams, and checks that both transfer data.
func (c *conversation) begin(ctx context.Context) {
	GinkgoHelper()
	c.log = start(command{}.make(in(c.pod, "logs", teller, "--follow", "--tail=1")...))
	// The log starts with one earlier line. This proves that it follows before the test writes a
	// word, which would otherwise be lost.
	Eventually(ctx, c.log.Out).WithTimeout(shown).Should(gbytes.Say("tick\n"), complaint(c.log))
	talking := command{}.make(in(c.pod, "exec", teller, "--stdin", "--", "sh", "-c", repeats)...)
	c.input = must(talking.StdinPipe())
	c.command = start(talking)
	c.goesOn(ctx)
}

// goesOn checks that both streams transfer new data.
func (c *conversation) goesOn(ctx context.Context) {
	GinkgoHelper()
	word := rand.Text()
	Expect(fmt.Fprintln(c.input, word)).Error().NotTo(HaveOccurred(), complaint(c.command))
	Eventually(ctx, c.command.Out).WithTimeout(shown).Should(gbytes.Say("heard "+word), complaint(c.command))
	Eventually(ctx, c.log.Out).WithTimeout(shown).Should(gbytes.Say("told "+word), complaint(c.log))
}

// ends waits for the end of both streams, and adds kubectl's result to the report.
func (c *conversation) ends(ctx context.Context, why string) {
	GinkgoHelper()
	Eventually(ctx, c.log).WithTimeout(cut).Should(gexec.Exit(), "the log ends with "+why)
	Eventually(ctx, c.command).WithTimeout(cut).Should(gexec.Exit(), "the command ends with "+why)
	for name, session := range map[string]*gexec.Session{"logs -f": c.log, "exec": c.command} {
		said := complaint(session)
		Measured("kubectl "+name+" through "+why,
			fmt.Sprintf("exit code %d; %s", session.ExitCode(), said[strings.LastIndex(said, "\n")+1:]))
	}
}

// isCut waits for the end of both streams while their containers continue to run. The API server
// ends the log as if it were complete. So kubectl reports an error only for the command.
func (c *conversation) isCut(ctx context.Context, by string) {
	GinkgoHelper()
	c.ends(ctx, by)
	Expect(c.log).To(gexec.Exit(0), complaint(c.log))
	Expect(c.command).To(gexec.Exit(1), complaint(c.command))
	Expect(complaint(c.command)).To(ContainSubstring("unexpected EOF"))
}

// reached waits until the kubelet's API serves the pod again, for both streams. It adds the time
// since the disruption to the report.
func (c *conversation) reached(ctx context.Context, why string, since time.Time) {
	GinkgoHelper()
	Eventually(ctx, func() *gexec.Session {
		return command{}.run(ctx, in(c.pod, "exec", teller, "--", "true")...)
	}).WithTimeout(back).WithPolling(200*time.Millisecond).Should(gexec.Exit(0), "exec after "+why)
	Measured("until kubectl exec works again after "+why, time.Since(since).Round(100*time.Millisecond).String())
	c.begin(ctx)
}

// refused checks kubectl's error while the kubelet's API cannot be reached. Each command must fail
// at once.
func (c *conversation) refused(ctx context.Context) {
	GinkgoHelper()
	for _, args := range [][]string{in(c.pod, "logs", teller, "--tail=1"), in(c.pod, "exec", teller, "--", "true")} {
		ended := command{}.run(ctx, args...)
		Expect(ended).NotTo(gexec.Exit(0), "kubectl %s reached the kubelet", args[0])
		Expect(ended.Out.Contents()).To(BeEmpty())
		Measured("kubectl "+args[0]+" meanwhile", strings.ReplaceAll(complaint(ended), "\n", " "))
	}
}
