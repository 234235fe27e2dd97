// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// The specs run in order: they remove the proxy from a node, and then install it again.
var _ = Describe("on the worker, bulkhead node", Serial, Ordered, Label(Disruptive, OnHost, OnWorker, OnHardened, Slow),
	func() {
		var (
			streams    *kubectlStreams
			containers []string
		)

		BeforeAll(func(ctx SpecContext) {
			DeferCleanup(func(ctx context.Context) {
				onWorker(ctx, "bulkhead node install")
				eventuallyOnWorker(ctx, kubeletRestartTimeout, proxyReady)
			})
			streams = startStreams(ctx)
			containers = containerIDs(ctx, streams.pod)
		})

		AfterEach(func(ctx SpecContext) {
			expectNodeReady(ctx)
			Expect(containerIDs(ctx, streams.pod)).To(Equal(containers), "the pod kept running")
		})

		It("uninstall restores the kubelet's port and its old certificate", Allows("KA-LOOPBACK-1"),
			func(ctx SpecContext) {
				Expect(onWorker(ctx, "bulkhead node uninstall")).To(ContainSubstring("The kubelet listens as it did."))
				streams.expectCut(ctx, "bulkhead node uninstall")
				onWorker(ctx, "test ! -e "+proxyFiles+"/client.key && test ! -e "+StateDirectory+"/node")
				// The kubelet itself answers: kubelet-auth-proxy adds a rule ID to its 401.
				Expect(answered(ctx)).To(And(HaveField("Code", http.StatusUnauthorized), HaveField("Body", "Unauthorized")))
			})

		It("uninstall changes nothing in a second run", Allows("KA-LOOPBACK-1"), func(ctx SpecContext) {
			before := onWorker(ctx, kubeletProcess)
			Expect(onWorker(ctx, "bulkhead node uninstall")).To(ContainSubstring("Nothing had to be changed"))
			Expect(onWorker(ctx, kubeletProcess)).To(Equal(before))
		})

		// On hardened the API server requires a serving certificate from the cluster's CA. A
		// kubelet with the defaults of kubeadm does not have one.
		It("uninstall leaves a kubelet whose certificate the API server rejects", Denies("KA-CSR-1"), func(ctx SpecContext) {
			Expect(suite.OnControlPlane(ctx, "cat "+APIServerManifest)).To(ContainSubstring("--kubelet-certificate-authority="))
			for _, args := range [][]string{in(streams.pod, "logs", shell, "--tail=1"),
				in(streams.pod, "exec", shell, "--", "true")} {
				ended := command{}.run(ctx, args...)
				Expect(ended).NotTo(gexec.Exit(0))
				Expect(ended.Err).To(gbytes.Say("tls: failed to verify certificate: x509: "))
			}
		})

		It("uninstall leaves an idle proxy, which does not stop an update", Allows("KA-LOOPBACK-1"),
			func(ctx SpecContext) {
				eventuallyOnWorker(ctx, kubeletRestartTimeout, proxyIdle+" && "+proxyReady)
				before := must(proxyOf(ctx, suite.Worker)).UID
				kubectl(ctx, "rollout", "restart", "--namespace="+systemNamespace, proxySet)
				kubectl(ctx, "rollout", "status", "--namespace="+systemNamespace, proxySet, "--timeout=7m")
				idle := must(proxyOf(ctx, suite.Worker))
				Expect(idle.UID).NotTo(Equal(before))
				Expect(isReady(idle)).To(BeTrue())
				onWorker(ctx, proxyIdle)
				eventuallyOnControlPlane(ctx, proxyReady)
			})

		It("install puts the kubelet behind its proxy again", Allows("KA-LOOPBACK-1"), Allows("KA-CLOG-1"),
			Allows("KA-EXEC-1"),
			func(ctx SpecContext) {
				since := time.Now()
				Expect(onWorker(ctx, "bulkhead node install")).To(ContainSubstring("to its proxy only."))
				Measured("bulkhead node install", time.Since(since).Round(time.Second).String())
				streams.expectRecovery(ctx, "bulkhead node install", since)
				Expect(answered(ctx)).To(
					And(HaveField("Code", http.StatusUnauthorized), HaveField("Body", ContainSubstring("[KA-AUTH-1]"))))
			})

		It("install changes nothing in a second run", Allows("KA-LOOPBACK-1"), Allows("KA-CLOG-1"), Allows("KA-EXEC-1"),
			func(ctx SpecContext) {
				streams.begin(ctx)
				before := onWorker(ctx, kubeletProcess) + onWorker(ctx, proxyProcess)
				Expect(onWorker(ctx, "bulkhead node install")).To(ContainSubstring("Nothing had to be changed"))
				Expect(onWorker(ctx, kubeletProcess) + onWorker(ctx, proxyProcess)).To(Equal(before))
				streams.expectData(ctx)
			})

		// A machine image has the unit. It starts with the kubelet, also after `kubeadm join`.
		It("unit installs the node when its kubelet starts", Allows("KA-LOOPBACK-1"), Allows("KA-CLOG-1"),
			func(ctx SpecContext) {
				onWorker(ctx, "bulkhead node uninstall")
				DeferCleanup(func(ctx context.Context) {
					onWorker(ctx, "systemctl disable --now "+installUnit+" || true; rm -f /etc/systemd/system/"+installUnit+
						"; systemctl daemon-reload")
				})
				onWorker(ctx, "bulkhead node unit >/etc/systemd/system/"+installUnit+
					"; systemctl daemon-reload; systemctl enable "+installUnit)
				since := time.Now()
				onWorker(ctx, "systemctl restart kubelet")
				eventuallyOnWorker(ctx, 6*time.Minute, "bulkhead node status | grep '^proxy  *ready$'")
				Measured("a kubelet behind its proxy by the unit", time.Since(since).Round(time.Second).String())
				eventuallyOnWorker(ctx, outputTimeout, "! systemctl is-active "+installUnit)
				before := onWorker(ctx, kubeletProcess)
				last := strings.TrimSpace(onWorker(ctx, "journalctl --sync; journalctl -n 1 --show-cursor -u "+installUnit+
					" | sed -n 's/^-- cursor: //p'"))
				Expect(last).NotTo(BeEmpty())
				onWorker(ctx, "systemctl start "+installUnit)
				Eventually(ctx, func() (string, error) {
					return suite.Host.Run(ctx, suite.Worker, "journalctl --sync; journalctl -q -o cat --after-cursor='"+last+
						"' -u "+installUnit)
				}).WithTimeout(Soon).WithPolling(time.Second).Should(ContainSubstring("Nothing had to be changed"))
				Expect(onWorker(ctx, kubeletProcess)).To(Equal(before), "a second start changes nothing")
			})

		It("uninstall disables the unit", Allows("KA-LOOPBACK-1"), func(ctx SpecContext) {
			onWorker(ctx, "bulkhead node unit >/etc/systemd/system/"+installUnit+
				"; systemctl daemon-reload; systemctl enable "+installUnit)
			DeferCleanup(func(ctx context.Context) {
				onWorker(ctx, "rm -f /etc/systemd/system/"+installUnit+"; systemctl daemon-reload")
			})
			Expect(onWorker(ctx, "bulkhead node uninstall")).To(ContainSubstring(installUnit + " is disabled"))
			onWorker(ctx, "! systemctl is-enabled "+installUnit+" && sleep 5 && test ! -e "+StateDirectory+"/node")
			Expect(onWorker(ctx, "bulkhead node install")).To(ContainSubstring("to its proxy only."))
		})
	})

const (
	proxySet    = "daemonset/bulkhead-kubelet-auth-proxy"
	installUnit = "bulkhead-node-install.service"
)

// eventuallyOnControlPlane repeats a script until it succeeds.
func eventuallyOnControlPlane(ctx context.Context, script string) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		_, err := suite.Host.Run(ctx, suite.ControlPlane, script)
		return err
	}).WithTimeout(kubeletRestartTimeout).WithPolling(200 * time.Millisecond).Should(Succeed())
}

// answered returns the answer at the worker's port to a caller without credentials. It accepts any
// serving certificate.
func answered(ctx context.Context) Reply {
	GinkgoHelper()
	port := &Port{Address: portOf(ctx, suite.Worker).Address, Node: suite.Worker}
	return must(port.Send(ctx, Anonymous(), Calling("GET", "/pods")))
}
