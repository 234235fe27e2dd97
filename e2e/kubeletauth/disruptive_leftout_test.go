// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// poolLabel is a label that a kubelet cannot set.
	poolLabel = "e2e.bulkhead.dev/pool"
	// leaveOut installs Bulkhead again with a selector that the worker's label does not match.
	leaveOut = "bulkhead install --kubelet-node-selector='" + poolLabel + " notin (edge)' 2>&1"
	// kubeletsCA is the flag by which kube-apiserver verifies kubelets.
	kubeletsCA = "--kubelet-certificate-authority="
	// clusterStatus prints the state of all nodes. Findings of other specs can make it exit with 2.
	clusterStatus = "bulkhead status --cluster --kubeconfig=/etc/kubernetes/admin.conf || test $? = 2"

	kubeletConfig = "/var/lib/kubelet/config.yaml"
	// requestServing makes the kubelet request a serving certificate of the cluster.
	requestServing = "set -e; echo 'serverTLSBootstrap: true' >>" + kubeletConfig + "; systemctl restart kubelet"
	// selfSigned restores the default of kubeadm, if it was changed.
	selfSigned = "set -e; if grep -q '^serverTLSBootstrap: true$' " + kubeletConfig +
		"; then sed -i '/^serverTLSBootstrap: true$/d' " + kubeletConfig + "; systemctl restart kubelet; fi"
)

// The specs run in order. They are the procedure of docs/install.md, "Leave out nodes".
var _ = Describe("a worker that kubeletAPI.nodeSelector does not match", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), func() {
		var pod *corev1.Pod

		BeforeAll(func(ctx SpecContext) {
			suite.AwaitProxies(ctx)
			Expect(apiServerFlags(ctx)).To(ContainSubstring(kubeletsCA), "before the specs")
			installed := must(suite.ReadInstallation(ctx))
			DeferCleanup(func(ctx context.Context) { restoreSelection(ctx, installed) })
			setPool(ctx, `"edge"`)
			// Env.Pod would also create a Node without a kubelet. The installer would find that its kubelet
			// has no certificate.
			env := suite.Env()
			pod = fixtures.Pod(env.Namespace(ctx), env.NewName("pod"), suite.Worker, withShell(tickScript))
			env.Put(ctx, pod)
			running(ctx, pod)
		})

		It("is not left out while it has a self-signed certificate and kube-apiserver verifies kubelets",
			Allows("KA-LOOPBACK-1"), func(ctx SpecContext) {
				guarded := must(proxyOf(ctx, suite.Worker))
				onWorker(ctx, "bulkhead node uninstall")
				eventuallyOnWorker(ctx, kubeletRestartTimeout, proxyIdle+" && "+proxyReady)
				// The installer asks the kubelets of ready proxies. The container of this one has restarted.
				Eventually(ctx, func() (bool, error) {
					idle, err := proxyOf(ctx, suite.Worker)
					return err == nil && isReady(idle) && containersOf(idle) != containersOf(guarded), err
				}).WithTimeout(kubeletRestartTimeout).WithPolling(time.Second).Should(BeTrue(), "an idle proxy is ready")
				out, err := suite.Host.Run(ctx, suite.ControlPlane, leaveOut)
				Expect(err).To(HaveOccurred(), out)
				Expect(out).To(And(ContainSubstring("cannot leave out nodes with the selector"),
					ContainSubstring(suite.Worker+" (cannot ask its kubelet: ")))
				Expect(must(proxyOf(ctx, suite.Worker)).UID).To(Equal(guarded.UID), "the DaemonSet has not changed")
			})

		It("is left out when it has a certificate of the cluster, and logs and exec work", Allows("KA-CSR-1"),
			func(ctx SpecContext) {
				onWorker(ctx, requestServing)
				awaitServed(ctx, portOf(ctx, suite.Worker))
				suite.OnControlPlane(ctx, leaveOut)
				expectLeftOut(ctx)
				Expect(apiServerFlags(ctx)).To(ContainSubstring(kubeletsCA))
				expectLogsAndExec(ctx, pod)
				// The kubelet itself answers: kubelet-auth-proxy adds a rule ID to its 401.
				Expect(answered(ctx)).To(And(HaveField("Code", http.StatusUnauthorized), HaveField("Body", "Unauthorized")))
			})

		It("has no logs and exec with a self-signed certificate while kube-apiserver verifies kubelets",
			Denies("KA-CSR-1"), func(ctx SpecContext) {
				onWorker(ctx, selfSigned)
				awaitServed(ctx, &Port{Address: portOf(ctx, suite.Worker).Address, Node: suite.Worker})
				for _, args := range [][]string{in(pod, "logs", shell, "--tail=1"), in(pod, "exec", shell, "--", "true")} {
					ended := command{}.run(ctx, args...)
					Expect(ended).NotTo(gexec.Exit(0))
					Expect(ended.Err).To(gbytes.Say("tls: failed to verify certificate: x509: "))
				}
			})

		It("has logs and exec with a self-signed certificate in an installation that does not verify kubelets yet",
			Allows("KA-LOOPBACK-1"), func(ctx SpecContext) {
				suite.OnControlPlane(ctx, "bulkhead install --kubelet-api=false")
				Expect(apiServerFlags(ctx)).NotTo(ContainSubstring(kubeletsCA))
				// The selector is kept.
				out := suite.OnControlPlane(ctx, "bulkhead install --kubelet-api=true 2>&1")
				Expect(out).To(And(ContainSubstring("kube-apiserver accepts any serving certificate of a kubelet"),
					ContainSubstring("node "+suite.Worker+": ")))
				Expect(apiServerFlags(ctx)).NotTo(ContainSubstring(kubeletsCA))
				expectLeftOut(ctx)
				expectLogsAndExec(ctx, pod)
			})

		It("lets the installer set the kubelets' CA when it has a certificate of the cluster", Allows("KA-CSR-1"),
			func(ctx SpecContext) {
				onWorker(ctx, requestServing)
				awaitServed(ctx, portOf(ctx, suite.Worker))
				suite.OnControlPlane(ctx, "bulkhead install")
				Expect(apiServerFlags(ctx)).To(ContainSubstring(kubeletsCA))
				expectLeftOut(ctx)
				expectLogsAndExec(ctx, pod)
			})
	})

// restoreSelection puts the worker behind its proxy again, with the settings that were installed before.
func restoreSelection(ctx context.Context, installed Installation) {
	GinkgoHelper()
	onWorker(ctx, selfSigned)
	suite.OnControlPlane(ctx, installed.Command()+" --kubelet-api=true --kubelet-node-selector=")
	setPool(ctx, "null")
	eventuallyOnWorker(ctx, kubeletRestartTimeout, proxyReady)
	onWorker(ctx, "bulkhead node install")
	// Each kubelet has a certificate of the cluster now.
	suite.OnControlPlane(ctx, "bulkhead install")
	Expect(apiServerFlags(ctx)).To(ContainSubstring(kubeletsCA))
	eventuallyOnWorker(ctx, kubeletRestartTimeout, kubeletGuarded)
	expectNodeReady(ctx)
	suite.AwaitProxies(ctx)
}

// setPool sets the worker's label to a JSON value. null removes it.
func setPool(ctx context.Context, value string) {
	GinkgoHelper()
	_, err := suite.Client.CoreV1().Nodes().Patch(ctx, suite.Worker, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, poolLabel, value), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// apiServerFlags returns the lines of kube-apiserver's manifest that have a flag.
func apiServerFlags(ctx context.Context) string {
	GinkgoHelper()
	return suite.OnControlPlane(ctx, "grep -e '^ *- --' "+APIServerManifest)
}

// containersOf returns the IDs of a pod's containers. They change after a restart.
func containersOf(pod *corev1.Pod) string {
	var all string
	for _, status := range pod.Status.ContainerStatuses {
		all += status.Name + " " + status.ContainerID + "\n"
	}
	return all
}

// awaitServed waits until a kubelet answers at the port. If the port has the cluster's CA, the kubelet
// also needs a certificate of the cluster.
func awaitServed(ctx context.Context, port *Port) {
	GinkgoHelper()
	Eventually(ctx, func() (int, error) {
		reply, err := port.Send(ctx, Anonymous(), Calling("GET", "/pods"))
		return reply.Code, err
	}).WithTimeout(kubeletRestartTimeout).WithPolling(200*time.Millisecond).Should(Equal(http.StatusUnauthorized),
		"the kubelet's port")
	expectNodeReady(ctx)
}

// expectLeftOut waits until the worker has no proxy, and until `bulkhead status --cluster` says that it
// is left out. The command must not report it as a FAIL or a WARN.
func expectLeftOut(ctx context.Context) {
	GinkgoHelper()
	suite.AwaitProxies(ctx)
	Eventually(ctx, func() ([]corev1.Pod, error) {
		list, err := suite.Client.CoreV1().Pods(systemNamespace).List(ctx, metav1.ListOptions{
			LabelSelector: proxySelector, FieldSelector: "spec.nodeName=" + suite.Worker,
		})
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}).WithTimeout(kubeletRestartTimeout).WithPolling(time.Second).Should(BeEmpty(), "proxies of %s", suite.Worker)
	onWorker(ctx, "! "+proxyProcess)
	worker := regexp.QuoteMeta(suite.Worker)
	Eventually(ctx, func() (string, error) {
		return suite.Host.Run(ctx, suite.ControlPlane, clusterStatus)
	}).WithTimeout(kubeletRestartTimeout).WithPolling(time.Second).Should(And(
		MatchRegexp(`(?m)^kubelets left out: [0-9]+: (.*, )?`+worker+`(,|$)`),
		Not(MatchRegexp(`(?m)^(FAIL|WARN) +`+worker+` `))))
}

// expectLogsAndExec reads a log and runs a command through the API server, which may have restarted.
func expectLogsAndExec(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func() *gexec.Session {
		return command{}.run(ctx, in(pod, "logs", shell, "--tail=1")...)
	}).WithTimeout(kubeletRestartTimeout).WithPolling(time.Second).Should(And(gexec.Exit(0),
		HaveField("Out", gbytes.Say("tick\n"))))
	Expect(kubectl(ctx, in(pod, "exec", shell, "--", "echo", "ran")...)).To(Equal("ran\n"))
}
