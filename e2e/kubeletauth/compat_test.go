// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// startSideProxy starts a second proxy in front of the kubelet of the [target].
func startSideProxy(ctx context.Context, p SideProxy) *Port {
	GinkgoHelper()
	return p.Run(ctx, suite.Env(), target())
}

// In compat mode the proxy must require the same rights as the kubelet. On hardened these requests
// go to a second proxy in that mode, and on in-tree to the kubelet itself.
var _ = Describe("compat mode", Ordered, ContinueOnFailure, func() {
	var port *Port

	BeforeAll(func(ctx SpecContext) {
		if suite.Settings.Profile == InTree {
			port = kubelet(ctx)
			return
		}
		port = startSideProxy(ctx, SideProxy{Flags: []string{"--mode=compat"}})
	})

	DescribeTable("requires the verb of the method on nodes/proxy:",
		func(ctx SpecContext, has rights, call Call, codes ...int) {
			expectClaim(ctx, port, caller(ctx, has), call, codes...)
		},
		Entry("logs of containers with get", Allows("KA-PROXY-1"), may("get", "proxy"), get("/containerLogs"+noContainer),
			http.StatusNotFound),
		Entry("logs of containers without get", Denies("KA-PROXY-1"), may("get", "containerlogs"),
			get("/containerLogs"+noContainer)),
		Entry("exec by WebSocket with get, the known weakness of nodes/proxy", Allows("KA-PROXY-1"), Attack("T10"),
			may("get", "proxy"),
			get(processes[0].path).Upgrading(), http.StatusNotFound),
		Entry("exec with create on nodes/exec, the right in strict mode", Denies("KA-PROXY-1"), may("create", "exec"),
			Calling(http.MethodPost, processes[0].path).Upgrading()),
		Entry("exec by POST with get", Denies("KA-PROXY-1"), may("get", "proxy"),
			Calling(http.MethodPost, processes[0].path).Upgrading()),
		Entry("run with create", Allows("KA-PROXY-1"), may("create", "proxy"), Calling(http.MethodPost, processes[3].path),
			http.StatusNotFound),
		Entry("run with get", Denies("KA-PROXY-1"), may("get", "proxy"), Calling(http.MethodPost, processes[3].path)),
		Entry("profiles with get", Allows("KA-PROXY-1"), may("get", "proxy"), get("/debug/pprof/cmdline")),
		Entry("profiles without get", Denies("KA-PROXY-1"), may("get", "debug"), get("/debug/pprof/cmdline")),
	)

	DescribeTable("uses the kubelet's verbs:",
		func(ctx SpecContext, has rights, call Call, codes ...int) {
			expectClaim(ctx, port, caller(ctx, has), call, codes...)
		},
		Entry("HEAD has no verb: denied with get", Denies("KA-METHOD-2"), may("get", "metrics"),
			Calling(http.MethodHead, "/metrics")),
		Entry("HEAD with all verbs: allowed", Allows("KA-METHOD-2"), may("*", "metrics"),
			Calling(http.MethodHead, "/metrics")),
		Entry("an upgrade needs no other right", Allows("KA-METRICS-1"), may("get", "metrics"), get("/metrics").Upgrading()),
		Entry("POST /pods with create on nodes/proxy", Allows("KA-POD-1"), may("create", "proxy"),
			Calling(http.MethodPost, "/pods"), http.StatusMethodNotAllowed),
		Entry("POST /healthz with create on nodes/proxy", Allows("KA-HEALTH-1"), may("create", "proxy"),
			Calling(http.MethodPost, "/healthz")),
	)
})

// Audit mode shows an operator what strict mode would deny.
var _ = Describe("a rule in audit mode", Ordered, ContinueOnFailure, Label(OnHardened), func() {
	var port *Port

	BeforeAll(func(ctx SpecContext) {
		port = startSideProxy(ctx, SideProxy{Flags: []string{"--rule-mode=KA-EXEC-1=audit,KA-CLOG-1=off"}})
	})

	// findings returns the findings in the audit line of a call that must be forwarded.
	findings := func(ctx context.Context, has rights, call Call, by rules.ID) []string {
		GinkgoHelper()
		return suite.ExpectForwarded(ctx, send(ctx, port, caller(ctx, has), call), http.StatusNotFound, by).Findings
	}

	It("allows what the kubelet allows, and counts who would be denied", Allows("KA-EXEC-1"), func(ctx SpecContext) {
		const counted = "bulkhead_audited_refusals_total"
		before := must(suite.KubeletProxyMetric(ctx, port, counted, `rule="KA-EXEC-1"`))
		Expect(findings(ctx, may("get", "proxy"), get(processes[0].path).Upgrading(), "KA-PROXY-1")).To(
			ConsistOf("KA-EXEC-1"))
		Expect(suite.KubeletProxyMetric(ctx, port, counted, `rule="KA-EXEC-1"`)).To(Equal(before + 1))
	})

	It("does not count a caller with the right", Allows("KA-EXEC-1"), func(ctx SpecContext) {
		both := slices.Concat(may("get", "proxy"), may("create", "exec"))
		Expect(findings(ctx, both, get(processes[0].path).Upgrading(), "KA-PROXY-1")).To(BeEmpty())
	})

	It("counts nothing when it is off", Allows("KA-CLOG-1"), func(ctx SpecContext) {
		Expect(findings(ctx, may("get", "proxy"), get("/containerLogs"+noContainer), "KA-PROXY-1")).To(BeEmpty())
	})

	It("leaves the other rules enforced", Denies("KA-ATTACH-1"), func(ctx SpecContext) {
		expectClaim(ctx, port, caller(ctx, may("get", "proxy")), get(processes[1].path).Upgrading())
	})
})
