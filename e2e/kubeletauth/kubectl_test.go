// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// The transport of a stream, and the method with which it arrives at the kubelet. Since Kubernetes
// 1.36 the API server forwards WebSockets (KEP-4006).
const (
	websocketMethod, spdyMethod = "GET", "POST"

	commandsOver = "KUBECTL_REMOTE_COMMAND_WEBSOCKETS="
	portsOver    = "KUBECTL_PORT_FORWARD_WEBSOCKETS="
)

var _ = Describe("kubectl with kubelet-auth-proxy,", func() {
	kubectlWorks("on the worker,", func() string { return suite.Worker }, OnWorker)
	kubectlWorks("on the control plane,", func() string { return suite.ControlPlane })
})

// kubectlWorks are the specs of kubectl commands that reach a kubelet.
func kubectlWorks(where string, node func() string, labels ...string) {
	Describe(where, Ordered, Label(append(labels, OnHost, OnHardened)...), func() {
		var pod *corev1.Pod

		BeforeAll(func(ctx SpecContext) {
			pod = running(ctx, suite.Env().Pod(ctx, node(), withShell(tickScript), withCompany))
		})

		It("logs prints existing lines", Allows("KA-CLOG-1"), func(ctx SpecContext) {
			Expect(kubectl(ctx, in(pod, "logs", shell, "--limit-bytes=5")...)).To(Equal("tick\n"))
		})

		It("logs -f prints new lines", Allows("KA-CLOG-1"), func(ctx SpecContext) {
			following := start(command{}.make(in(pod, "logs", shell, "--follow", "--tail=1")...))
			Eventually(ctx, following.Out).WithTimeout(outputTimeout).Should(gbytes.Say("tick"), atFailure(following))
			word := rand.Text()
			kubectl(ctx, in(pod, "exec", shell, "--", "sh", "-c", "echo "+word+" >/proc/1/fd/1")...)
			Eventually(ctx, following.Out).WithTimeout(outputTimeout).Should(gbytes.Say(word), atFailure(following))
			expectPassed(ctx, node(), pod, "containerlogs", "GET")
		})

		for _, over := range []struct{ protocol, websockets, method string }{
			{"a websocket", "true", websocketMethod}, {"SPDY", "false", spdyMethod},
		} {
			It("exec passes on input, output and the exit code, over "+over.protocol, Allows("KA-EXEC-1"),
				func(ctx SpecContext) {
					execs(ctx, pod, commandsOver+over.websockets)
					expectPassed(ctx, node(), pod, "exec", over.method)
				})

			It("attach talks with the process, over "+over.protocol, Allows("KA-ATTACH-1"), func(ctx SpecContext) {
				attaches(ctx, pod, commandsOver+over.websockets)
				expectPassed(ctx, node(), pod, "attach", over.method)
			})

			It("port-forward carries connections side by side, over "+over.protocol, Allows("KA-PORT-1"), func(ctx SpecContext) {
				forwards(ctx, pod, portsOver+over.websockets)
				expectPassed(ctx, node(), pod, "portforward", over.method)
			})
		}

		It("cp copies a file to the pod and from the pod", Allows("KA-EXEC-1"), func(ctx SpecContext) { copies(ctx, pod) })
	})
}

// expectPassed expects the audit line of a stream that the proxy forwarded, with its method.
func expectPassed(ctx context.Context, node string, pod *corev1.Pod, subresource, method string) {
	GinkgoHelper()
	Eventually(ctx, func() ([]KubeletLine, error) { return linesAbout(ctx, node, pod.Namespace) }).WithTimeout(
		outputTimeout).Should(
		ContainElement(And(HaveField("Pod", pod.Name), HaveField("Subresource", subresource), HaveField("Method", method),
			HaveField("Decision", "allow"), HaveField("Stage", "begin"))))
}

// noise returns random text.
func noise(size int) string {
	GinkgoHelper()
	raw := make([]byte, size/2)
	_, err := rand.Read(raw)
	Expect(err).NotTo(HaveOccurred())
	return hex.EncodeToString(raw)
}

func execs(ctx context.Context, pod *corev1.Pod, environment string) {
	GinkgoHelper()
	sent := noise(300 << 10)
	call := command{environment: environment, stdin: strings.NewReader(sent)}
	ended := call.run(ctx, in(pod, "exec", shell, "--stdin", "--", "sh", "-c", "cat; echo complaint >&2; exit 7")...)
	Expect(ended).To(gexec.Exit(7), stderrOf(ended))
	Expect(string(ended.Out.Contents()) == sent).To(BeTrue(), "of %d bytes %d came back, or others", len(sent),
		len(ended.Out.Contents()))
	Expect(ended.Err).To(gbytes.Say("complaint"))
}

func attaches(ctx context.Context, pod *corev1.Pod, environment string) {
	GinkgoHelper()
	call := command{environment: environment}.make(in(pod, "attach", echoContainer, "--stdin")...)
	input := must(call.StdinPipe())
	attached := start(call)
	word := rand.Text()
	fmt.Fprintln(input, word)
	Eventually(ctx, attached.Out).WithTimeout(outputTimeout).Should(gbytes.Say("heard "+word), atFailure(attached))
}

func forwards(ctx context.Context, pod *corev1.Pod, environment string) {
	GinkgoHelper()
	forwarding := start(command{environment: environment}.make("port-forward", "--namespace="+pod.Namespace, pod.Name,
		":"+serverPort))
	Eventually(ctx, forwarding.Out).WithTimeout(outputTimeout).Should(gbytes.Say(`Forwarding from 127\.0\.0\.1:\d+ ->`),
		atFailure(forwarding))
	line, _, _ := strings.Cut(string(forwarding.Out.Contents()), " ->")
	address := strings.TrimPrefix(line, "Forwarding from ")
	first, second := dial(ctx, address), dial(ctx, address)
	for _, one := range []io.ReadWriter{second, first, second} {
		word := rand.Text()
		fmt.Fprintln(one, word)
		answer := make([]byte, len("heard \n")+len(word))
		Expect(io.ReadFull(one, answer)).Error().NotTo(HaveOccurred(), stderrOf(forwarding))
		Expect(string(answer)).To(Equal("heard " + word + "\n"))
	}
}

func copies(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	dir, content := GinkgoT().TempDir(), []byte(noise(1<<20))
	there, back := filepath.Join(dir, "there"), filepath.Join(dir, "back")
	Expect(os.WriteFile(there, content, 0o600)).To(Succeed())
	inPod := pod.Namespace + "/" + pod.Name + ":" + scratch + "/file"
	kubectl(ctx, "cp", "--container="+shell, there, inPod)
	kubectl(ctx, "cp", "--container="+shell, inPod, back)
	Expect(bytes.Equal(must(os.ReadFile(back)), content)).To(BeTrue(), "the file has changed on its way")
	Expect(slices.Contains(strings.Fields(kubectl(ctx, in(pod, "exec", shell, "--", "ls", scratch)...)), "file")).To(
		BeTrue())
}
