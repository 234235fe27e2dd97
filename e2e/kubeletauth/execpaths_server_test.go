// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// The second path: the API server checks the verb of the method on nodes/proxy, and then calls the
// kubelet with its own credentials. A ValidatingAdmissionPolicy from the API server's disk denies
// the attack. Without that policy, only port forwarding by get remains possible. For an upgrade the
// API server drops the query, so the kubelet does not receive the command of an exec
// (k8s.io/apimachinery/pkg/util/proxy UpgradeAwareHandler.tryUpgrade).
var _ = Describe("through the API server, with a pod that runs,", Ordered, ContinueOnFailure, Attack("T10"),
	Label(OnHost), func() {
		var (
			pod execPaths
			api *Port
		)

		BeforeAll(func(ctx SpecContext) {
			pod = newExecPaths(ctx)
			api = must(suite.ServerPort())
		})

		// spdy requests a SPDY upgrade. Its streams declare their purpose themselves.
		spdy := func(path string) Call {
			return get(through(path)).With("Connection: Upgrade", "Upgrade: SPDY/3.1",
				"X-Stream-Protocol-Version: portforward.k8s.io")
		}

		// refuses makes a call that the policy must deny. On in-tree, which has no policy, it
		// expects the status without.
		refuses := func(ctx context.Context, has rights, call Call, without int, text string) {
			GinkgoHelper()
			reply := must(api.Send(ctx, caller(ctx, has), call))
			if suite.Settings.Profile == InTree {
				Expect(reply.Code).To(Equal(without), reply.String())
				return
			}
			Expect(reply.Code).To(Equal(http.StatusForbidden), reply.String())
			Expect(reply.Body).To(And(ContainSubstring(text), ContainSubstring("[KA-VAP-1]")), reply.String())
		}

		DescribeTable("get nodes/proxy does not", DeniesBeyond("KA-VAP-1", Behind),
			func(ctx SpecContext, call func() Call, without int, right string) {
				refuses(ctx, may("get", "proxy"), call(), without, right+" of node "+target())
			},
			Entry("forward ports", func() Call { return spdy(pod.portForward) }, http.StatusSwitchingProtocols,
				"create on nodes/portforward"),
			Entry("reach exec", func() Call { return get(through(pod.exec)).Upgrading() }, http.StatusBadRequest,
				"create on nodes/exec"),
			Entry("reach attach", func() Call { return get(through(pod.attach)).Upgrading() }, http.StatusBadRequest,
				"create on nodes/attach"),
			Entry("reach run", func() Call { return get(through(pod.run)) }, http.StatusMethodNotAllowed, "create on nodes/run"),
			Entry("read logs of containers", func() Call { return get(through(pod.logs)) }, http.StatusOK,
				"get on nodes/containerlogs"),
			Entry("read profiles", func() Call { return get(through("/debug/pprof/cmdline")) }, http.StatusOK,
				"get on nodes/debug"),
			Entry("read metrics", func() Call { return get(through("/metrics")) }, http.StatusOK, "get on nodes/metrics"),
			Entry("read statistics", func() Call { return get(through("/stats/summary")) }, http.StatusOK, "get on nodes/stats"),
			Entry("read the node's log files", func() Call { return get(through("/logs/")) }, http.StatusOK, "get on nodes/log"),
			Entry("reach a path that no kubelet has", func() Call { return get(through("/e2e-nothing")) }, http.StatusNotFound,
				"create on nodes/unknown"),
		)

		It("every verb on nodes/proxy does not run", DeniesBeyond("KA-VAP-1", Behind), func(ctx SpecContext) {
			refuses(ctx, may("*", "proxy"), Calling(http.MethodPost, through(pod.run)), http.StatusOK, "create on nodes/run")
		})

		It("create on other subresources does not forward ports", Denies("KA-VAP-1"), Label(OnHardened),
			func(ctx SpecContext) {
				has := slices.Concat(may("get", "proxy"), may("create", "attach", "run", "exec"), may("get", "portforward"))
				refuses(ctx, has, spdy(pod.portForward), 0, "create on nodes/portforward")
			})

		It("create on nodes/portforward of another node does not forward ports", Denies("KA-VAP-1"), Label(OnHardened),
			func(ctx SpecContext) {
				has := slices.Concat(may("get", "proxy"), may("create", "portforward").named("e2e-another-node"))
				refuses(ctx, has, spdy(pod.portForward), 0, "create on nodes/portforward of node "+target())
			})

		It("create nodes/portforward in addition forwards ports", Allows("KA-VAP-1"), func(ctx SpecContext) {
			has := slices.Concat(may("get", "proxy"), may("create", "portforward"))
			reply := must(api.Send(ctx, caller(ctx, has), spdy(pod.portForward)))
			Expect(reply.Code).To(Equal(http.StatusSwitchingProtocols), reply.String())
		})

		It("create nodes/run in addition to create nodes/proxy runs", Allows("KA-VAP-1"), func(ctx SpecContext) {
			reply := must(api.Send(ctx, caller(ctx, may("create", "proxy", "run")), Calling(http.MethodPost, through(pod.run))))
			Expect(reply.Code).To(Equal(http.StatusOK), reply.String())
			Expect(reply.Body).To(ContainSubstring(greeting))
		})

		It("create nodes/exec in addition reaches exec", Allows("KA-VAP-1"), func(ctx SpecContext) {
			has := slices.Concat(may("get", "proxy"), may("create", "exec"))
			reply := must(api.Send(ctx, caller(ctx, has), get(through(pod.exec)).Upgrading()))
			Expect(reply.Code).To(Equal(http.StatusBadRequest), reply.String())
			Expect(reply.Body).To(ContainSubstring("you must specify at least 1 of stdin, stdout, stderr"),
				"the kubelet's own words")
		})

		It("create nodes/exec alone is denied by RBAC", DeniesBy("KA-VAP-1", Behind), Label(OnHardened),
			func(ctx SpecContext) {
				reply := must(api.Send(ctx, caller(ctx, may("create", "exec")), get(through(pod.exec)).Upgrading()))
				Expect(reply.Code).To(Equal(http.StatusForbidden), reply.String())
				Expect(reply.Body).NotTo(ContainSubstring("KA-VAP-1"))
			})

		DescribeTable("the right to the subresource, in addition to get nodes/proxy, reads", Allows("KA-VAP-1"),
			func(ctx SpecContext, path func() string, subresource string) {
				reply := must(api.Send(ctx, caller(ctx, may("get", "proxy", subresource)), get(through(path()))))
				Expect(reply.Code).To(Equal(http.StatusOK), reply.String())
			},
			Entry("logs of containers", func() string { return pod.logs }, "containerlogs"),
			Entry("profiles", func() string { return "/debug/pprof/cmdline" }, "debug"),
			Entry("metrics", func() string { return "/metrics" }, "metrics"),
			Entry("statistics", func() string { return "/stats/summary" }, "stats"),
			Entry("the node's log files", func() string { return "/logs/" }, "log"),
			Entry("health, for which get nodes/proxy is enough", func() string { return "/healthz" }, "proxy"),
			Entry("pods, for which get nodes/proxy is enough", func() string { return "/pods" }, "proxy"),
		)

		// The policy does not see the method. The API server's own rights at the proxy deny the
		// request.
		It("get nodes/containerlogs does not post to logs of containers", Denies("KA-CLOG-1"), Label(OnHardened),
			func(ctx SpecContext) {
				has := slices.Concat(may("create", "proxy"), may("get", "containerlogs"))
				reply := must(api.Send(ctx, caller(ctx, has), Calling(http.MethodPost, through(pod.logs))))
				Expect(reply.Code).To(Equal(http.StatusForbidden), reply.String())
				Expect(reply.Body).To(And(ContainSubstring("verb=create"), ContainSubstring("[KA-CLOG-1]")), reply.String())
			})

		It("an account's token with get nodes/proxy reads no logs of containers", Denies("KA-VAP-1"), Label(OnHardened),
			func(ctx SpecContext) {
				reply := must(api.Send(ctx, bearer(ctx, "", may("get", "proxy")), get(through(pod.logs))))
				Expect(reply.Code).To(Equal(http.StatusForbidden), reply.String())
				Expect(reply.Body).To(ContainSubstring("[KA-VAP-1]"), reply.String())
			})
	})

// The caller has all rights, so the denial is due to the path.
var _ = DescribeTable("through the API server, an ambiguous path is denied:", Denies("KA-VAP-1"), Attack("T24"),
	Label(OnHardened),
	func(ctx SpecContext, path string) {
		reply := must(must(suite.ServerPort()).Send(ctx, caller(ctx, everything), get(through(path)).Upgrading()))
		Expect(reply.Code).To(Equal(http.StatusForbidden), reply.String())
		Expect(reply.Body).To(And(ContainSubstring("is not clean"), ContainSubstring("[KA-VAP-1]")), reply.String())
	},
	Entry("a backslash", "/%5cexec"+noContainer),
	Entry("an encoded slash that is encoded again", "/exec%252fdefault/e2e-none/none"),
	Entry("dots that are encoded again", "/healthz/%252e%252e/exec"+noContainer),
	Entry("a parameter", "/exec;a=b"+noContainer),
	Entry("a NUL", "/exec"+noContainer+"%00"),
	Entry("a line break", "/healthz%0a"),
)
