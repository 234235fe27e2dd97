// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// docs/kubelet-api.md describes how each restart affects connected clients. These specs test it.
var _ = Describe("while a log is followed and a command runs in a pod of the worker,", Serial,
	Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), func() {
		var (
			streams           *kubectlStreams
			containers        []string
			proxy, theKubelet string
		)

		BeforeEach(func(ctx SpecContext) {
			streams = startStreams(ctx)
			containers = containerIDs(ctx, streams.pod)
			proxy, theKubelet = onWorker(ctx, proxyProcess), onWorker(ctx, kubeletProcess)
		})

		AfterEach(func(ctx SpecContext) {
			expectNodeReady(ctx)
			Expect(containerIDs(ctx, streams.pod)).To(Equal(containers), "the pod kept running")
		})

		It("a restart of the kubelet ends both, and the proxy serves new requests afterwards", Allows("KA-CLOG-1"),
			Allows("KA-EXEC-1"), func(ctx SpecContext) {
				since := time.Now()
				onWorker(ctx, "systemctl restart kubelet")
				streams.expectCut(ctx, "a restart of the kubelet")
				streams.expectRecovery(ctx, "a restart of the kubelet", since)
				Expect(onWorker(ctx, kubeletProcess)).NotTo(Equal(theKubelet))
				Expect(onWorker(ctx, proxyProcess)).To(Equal(proxy), "the proxy kept running")
			})

		It("a SIGTERM to the proxy ends both, with the cause in the audit log", Allows("KA-CLOG-1"), Allows("KA-EXEC-1"),
			func(ctx SpecContext) {
				since := time.Now()
				onWorker(ctx, "kill -TERM "+proxy)
				streams.expectCut(ctx, "an orderly end of the proxy")
				streams.expectRecovery(ctx, "an orderly end of the proxy", since)
				Expect(linesAbout(ctx, suite.Worker, streams.pod.Namespace)).To(ContainElements(
					And(HaveField("Stage", "end"), HaveField("Subresource", "containerlogs"),
						HaveField("Cause", "the proxy is stopping")),
					And(HaveField("Stage", "end"), HaveField("Subresource", "exec"), HaveField("Cause", "the proxy is stopping")),
				))
				Expect(onWorker(ctx, kubeletProcess)).To(Equal(theKubelet), "the kubelet kept running")
			})

		It("a SIGKILL to the proxy ends both", Allows("KA-CLOG-1"), Allows("KA-EXEC-1"), func(ctx SpecContext) {
			since := time.Now()
			onWorker(ctx, "kill -KILL "+proxy)
			streams.expectCut(ctx, "a sudden end of the proxy")
			streams.expectRecovery(ctx, "a sudden end of the proxy", since)
			Expect(onWorker(ctx, proxyProcess)).NotTo(Equal(proxy))
			Expect(onWorker(ctx, kubeletProcess)).To(Equal(theKubelet), "the kubelet kept running")
		})
	})
