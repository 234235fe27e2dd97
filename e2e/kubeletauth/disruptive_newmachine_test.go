// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// guardTime is the promise of docs/install.md: the time from Ready until the kubelet is behind its
	// proxy.
	guardTime = 90 * time.Second
	// guardTimeout is longer than guardTime, so that a spec that fails reports how long it took.
	guardTimeout = 6 * time.Minute
	// kubeletGuarded succeeds on the host of a node whose kubelet answers only its proxy, and whose proxy
	// answers at the kubelet's port.
	kubeletGuarded = "bulkhead node status >/run/e2e-node-status && " +
		"grep -q '^kubelet  *ready$' /run/e2e-node-status && grep -q '^proxy  *ready$' /run/e2e-node-status"
)

// The machine has what docs/install.md puts into a machine image: the program and the unit. It also has
// the image of the proxy, because the reference cluster has no registry. Nothing but `kubeadm join` runs
// on the machine after that.
var _ = Describe("a machine with the program and its systemd unit", Serial,
	Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), func() {
		BeforeEach(func(ctx SpecContext) { TakeMachine(ctx) })

		It("joins: its kubelet is behind its proxy within 90 s of Ready, and logs and exec work", SlowSpec,
			Allows("KA-LOOPBACK-1"), Allows("KA-CLOG-1"), Allows("KA-EXEC-1"), func(ctx SpecContext) {
				suite.AwaitProxies(ctx)
				env := suite.Env()
				machine := env.NewMachine(ctx, MachineName())
				before := joinByImage(ctx, env, machine)

				By("replacing the machine by one of the same name, with a new disk and a new address")
				containers := otherContainers(ctx, machine.Name)
				after := joinByImage(ctx, env, env.ReplaceMachine(ctx, machine))
				Expect(after.UID).NotTo(Equal(before.UID))
				Expect(InternalIP(after)).NotTo(Equal(InternalIP(before)))
				Expect(otherContainers(ctx, machine.Name)).To(Equal(containers), "nothing was restarted on other nodes")
			})
	})

// joinByImage joins a machine that has the program and its unit, and expects what docs/install.md promises.
func joinByImage(ctx context.Context, env *Env, machine *NewMachine) *corev1.Node {
	GinkgoHelper()
	machine.CopyImage(ctx, must(suite.ReadInstallation(ctx)).Image)
	machine.CopyProgram(ctx)
	machine.Run(ctx, "set -e; bulkhead node unit >/etc/systemd/system/"+installUnit+
		"; systemctl daemon-reload; systemctl enable "+installUnit)

	node := machine.Join(ctx, env.BootstrapToken(ctx))
	ready := readySince(node)
	Eventually(ctx, func() error {
		_, err := machine.Host.Run(ctx, machine.Name, kubeletGuarded)
		return err
	}).WithTimeout(guardTimeout).WithPolling(time.Second).Should(Succeed(), "the kubelet is behind its proxy")
	took := max(0, time.Since(ready))
	Measured("from Ready until the kubelet of a new machine is behind its proxy", took.Round(time.Second).String())
	GinkgoWriter.Println(machine.Run(ctx, "journalctl --no-pager -q -u "+installUnit))
	Expect(took).To(BeNumerically("<=", guardTime), "the time since %s was Ready", machine.Name)

	By("asking the kubelet's port: the proxy answers, with a certificate of the cluster")
	Expect(must(portOf(ctx, machine.Name).Send(ctx, Anonymous(), Calling("GET", "/pods")))).To(
		And(HaveField("Code", http.StatusUnauthorized), HaveField("Body", ContainSubstring("[KA-AUTH-1]"))))

	By("reading a log and running a command through the API server")
	pod := running(ctx, env.Pod(ctx, machine.Name, withShell(tickScript)))
	Eventually(ctx, func() string { return kubectl(ctx, in(pod, "logs", shell, "--tail=1")...) }).WithTimeout(
		outputTimeout).WithPolling(time.Second).Should(Equal("tick\n"))
	Expect(kubectl(ctx, in(pod, "exec", shell, "--", "echo", "ran")...)).To(Equal("ran\n"))
	Measured("from Ready until logs and exec of a new machine worked",
		max(0, time.Since(ready)).Round(time.Second).String())
	Eventually(ctx, func() ([]KubeletLine, error) { return linesAbout(ctx, machine.Name, pod.Namespace) }).
		WithTimeout(outputTimeout).Should(ContainElements(
		And(HaveField("Pod", pod.Name), HaveField("Rule", "KA-CLOG-1"), HaveField("Decision", "allow")),
		And(HaveField("Pod", pod.Name), HaveField("Rule", "KA-EXEC-1"), HaveField("Decision", "allow"))))

	By("looking at the unit: it has ended, without an error")
	Eventually(ctx, func() (string, error) {
		return machine.Host.Run(ctx, machine.Name, "systemctl show --property=ActiveState,Result "+installUnit)
	}).WithTimeout(outputTimeout).WithPolling(time.Second).Should(
		And(ContainSubstring("ActiveState=inactive\n"), ContainSubstring("Result=success\n")))
	return node
}

// otherContainers returns the IDs of the containers of kube-system on all nodes but one, by pod and
// container.
func otherContainers(ctx context.Context, node string) map[string]string {
	GinkgoHelper()
	pods, err := suite.Client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	ids := map[string]string{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Spec.NodeName == node {
			continue
		}
		for _, status := range pod.Status.ContainerStatuses {
			ids[pod.Name+"/"+status.Name] = status.ContainerID
		}
	}
	return ids
}

// readySince returns the time at which a Node became Ready.
func readySince(node *corev1.Node) time.Time {
	GinkgoHelper()
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return condition.LastTransitionTime.Time
		}
	}
	Fail("node " + node.Name + " is not Ready")
	return time.Time{}
}
