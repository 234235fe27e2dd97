// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Every pod has a token for the API server, and metrics-server and Prometheus send that token to
// kubelets. So the rule is in audit mode by default.
var _ = Describe("a token for the API server", Label(OnHardened), func() {
	const counted = "bulkhead_audited_refusals_total"

	It("is accepted by a kubelet, and counted", AllowsBy("KA-AUD-1", "KA-HEALTH-1"), Label(OnHost), func(ctx SpecContext) {
		port := kubelet(ctx)
		before := must(suite.KubeletProxyMetric(ctx, port, counted, `rule="KA-AUD-1"`))
		_, line := expectClaim(ctx, port, bearer(ctx, "", healthy), health)
		Expect(line.Findings).To(ConsistOf("KA-AUD-1"))
		Expect(suite.KubeletProxyMetric(ctx, port, counted, `rule="KA-AUD-1"`)).To(BeNumerically(">", before))
	})

	It("is not counted if it is for kubelets", AllowsBy("KA-AUD-1", "KA-HEALTH-1"), Label(OnHost), func(ctx SpecContext) {
		_, line := expectClaim(ctx, kubelet(ctx), bearer(ctx, kubeletAudience, healthy), health)
		Expect(line.Findings).To(BeEmpty())
	})

	Describe("where the rule is enforced", Ordered, ContinueOnFailure, func() {
		var port *Port

		BeforeAll(func(ctx SpecContext) {
			port = startSideProxy(ctx, SideProxy{Flags: []string{"--rule-mode=KA-AUD-1=enforce"}})
		})

		It("does not authenticate", Denies("KA-AUD-1"), func(ctx SpecContext) {
			expectClaim(ctx, port, bearer(ctx, "", healthy), health, http.StatusUnauthorized)
		})

		It("does not authenticate as a sub-protocol either", Denies("KA-AUD-1"), func(ctx SpecContext) {
			who := bearer(ctx, "", may("create", "exec"))
			expectClaim(ctx, port, Anonymous(), bySubprotocol(get(processes[0].path), who.Token), http.StatusUnauthorized)
		})

		It("a token for kubelets authenticates", AllowsBy("KA-AUD-1", "KA-HEALTH-1"), func(ctx SpecContext) {
			expectClaim(ctx, port, bearer(ctx, kubeletAudience, healthy), health)
		})

		It("certificates authenticate as before", AllowsBy("KA-AUD-1", "KA-HEALTH-1"), func(ctx SpecContext) {
			expectClaim(ctx, port, caller(ctx, healthy), health)
		})
	})
})
