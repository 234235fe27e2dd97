// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// T10: a WebSocket begins with GET. So get on nodes/proxy allows remote execution, and many charts
// grant it to clients that scrape metrics. The first path is the node's port.
var _ = Describe("at the node's port, with a pod that runs,", Ordered, ContinueOnFailure, Attack("T10"), Label(OnHost),
	func() {
		var pod execPaths

		BeforeAll(func(ctx SpecContext) { pod = newExecPaths(ctx) })

		It("get nodes/proxy does not exec by websocket", DeniesBeyond("KA-EXEC-1", "KA-PROXY-1"), func(ctx SpecContext) {
			expectClaim(ctx, kubelet(ctx), caller(ctx, may("get", "proxy")), get(pod.exec).Upgrading(), http.StatusForbidden,
				http.StatusSwitchingProtocols)
		})

		It("get nodes/proxy execs by WebSocket at a kubelet without a proxy", Allows("KA-PROXY-1"), func(ctx SpecContext) {
			port := kubelet(ctx)
			if suite.Settings.Profile != InTree {
				port = startSideProxy(ctx, SideProxy{Flags: []string{"--mode=compat"}})
			}
			Expect(outputOf(ctx, port, caller(ctx, may("get", "proxy")), pod.exec)).To(ContainSubstring(greeting))
		})

		It("create nodes/exec execs by WebSocket", Allows("KA-EXEC-1"), Label(OnHardened), func(ctx SpecContext) {
			Expect(outputOf(ctx, kubelet(ctx), caller(ctx, may("create", "exec")), pod.exec)).To(ContainSubstring(greeting))
		})

		DescribeTable("all verbs on nodes/proxy do not",
			func(ctx SpecContext, call func() Call, code int) {
				expectClaim(ctx, kubelet(ctx), caller(ctx, may("*", "proxy")), call(), http.StatusForbidden, code)
			},
			Entry("exec by POST to SPDY", DeniesBeyond("KA-EXEC-1", "KA-PROXY-1"), func() Call {
				return Calling(http.MethodPost, pod.exec).With("Connection: Upgrade", "Upgrade: SPDY/3.1",
					"X-Stream-Protocol-Version: v4.channel.k8s.io")
			}, http.StatusSwitchingProtocols),
			Entry("attach", DeniesBeyond("KA-ATTACH-1", "KA-PROXY-1"), func() Call { return get(pod.attach).Upgrading() },
				http.StatusSwitchingProtocols),
			Entry("forward ports", DeniesBeyond("KA-PORT-1", "KA-PROXY-1"),
				func() Call { return get(pod.portForward).Upgrading("v4.channel.k8s.io") }, http.StatusSwitchingProtocols),
			Entry("run", DeniesBeyond("KA-RUN-1", "KA-PROXY-1"), func() Call { return Calling(http.MethodPost, pod.run) },
				http.StatusOK),
			Entry("read logs", DeniesBeyond("KA-CLOG-1", "KA-PROXY-1"), func() Call { return get(pod.logs) }, http.StatusOK),
		)

		DescribeTable("the right to the subresource can", Label(OnHardened),
			func(ctx SpecContext, has rights, call func() Call, code int) {
				expectClaim(ctx, kubelet(ctx), caller(ctx, has), call(), code)
			},
			Entry("exec by POST to SPDY", Allows("KA-EXEC-1"), may("create", "exec"), func() Call {
				return Calling(http.MethodPost, pod.exec).With("Connection: Upgrade", "Upgrade: SPDY/3.1",
					"X-Stream-Protocol-Version: v4.channel.k8s.io")
			}, http.StatusSwitchingProtocols),
			Entry("attach", Allows("KA-ATTACH-1"), may("create", "attach"), func() Call { return get(pod.attach).Upgrading() },
				http.StatusSwitchingProtocols),
			Entry("forward ports", Allows("KA-PORT-1"), may("create", "portforward"),
				func() Call { return get(pod.portForward).Upgrading("v4.channel.k8s.io") }, http.StatusSwitchingProtocols),
			Entry("run", Allows("KA-RUN-1"), may("create", "run"), func() Call { return Calling(http.MethodPost, pod.run) },
				http.StatusOK),
			Entry("read logs", Allows("KA-CLOG-1"), may("get", "containerlogs"), func() Call { return get(pod.logs) },
				http.StatusOK),
		)

		It("a stream ends when its caller closes the connection", Allows("KA-ATTACH-1"), Label(OnHardened),
			func(ctx SpecContext) {
				port, who := kubelet(ctx), caller(ctx, may("create", "attach"))
				var gone []Reply
				for range 10 {
					open := must(port.Dial(ctx, who))
					reply := must(open.Send(get(pod.attach).Upgrading()))
					Expect(reply.Code).To(Equal(http.StatusSwitchingProtocols), reply.String())
					// Close without a TLS close_notify or a WebSocket close frame.
					Expect(open.NetConn().Close()).To(Succeed())
					gone = append(gone, reply)
				}
				for _, reply := range gone {
					Eventually(ctx, func() ([]KubeletLine, error) { return suite.KubeletAudited(ctx, reply) }).
						WithTimeout(closeTimeout).WithPolling(200*time.Millisecond).Should(ContainElement(HaveField("Stage", "end")),
						reply.String())
				}
			})

		It("run executes the requested command", Allows("KA-RUN-1"), Label(OnHardened), func(ctx SpecContext) {
			reply, line := expectClaim(ctx, kubelet(ctx), caller(ctx, may("create", "run")), Calling(http.MethodPost, pod.run))
			Expect(reply.Body).To(ContainSubstring(greeting))
			Expect([]string{line.Verb, line.Subresource, line.Container}).To(Equal([]string{"create", "run", shell}))
			Expect(line.Path).NotTo(ContainSubstring("hello"), "the audit line has no query")
		})
	})
