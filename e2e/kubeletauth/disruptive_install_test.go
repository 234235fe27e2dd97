// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"net/http"
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
				onWorker(ctx, "test ! -e "+proxyFiles+" && test ! -e "+StateDirectory+"/node && ! "+proxyProcess)
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
			onWorker(ctx, "! "+proxyProcess)
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
	})

// answered returns the answer at the worker's port to a caller without credentials. It accepts any
// serving certificate.
func answered(ctx context.Context) Reply {
	GinkgoHelper()
	port := &Port{Address: portOf(ctx, suite.Worker).Address, Node: suite.Worker}
	return must(port.Send(ctx, Anonymous(), Calling("GET", "/pods")))
}
