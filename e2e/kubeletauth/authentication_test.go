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

const (
	// kubeletAudience is the audience of tokens for kubelets.
	kubeletAudience = "bulkhead:kubelet"
	foreignAudience = "e2e.bulkhead.dev/elsewhere"
)

var (
	healthy = may("get", "healthz")
	health  = get("/healthz")
)

// An authenticated caller reads the kubelet's health.
var _ = Describe("a caller with valid credentials", func() {
	It("certificate of the cluster's CA: has its user name", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), func(ctx SpecContext) {
		_, line := expectClaim(ctx, kubelet(ctx), caller(ctx, healthy), health)
		expectGroups(line, "system:authenticated")
	})

	It("certificate of the cluster's CA: has its groups", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), func(ctx SpecContext) {
		who := must(suite.CertifiedUser(ctx, suite.Env().NewName("e2e-caller"), "e2e:one", "e2e:two|e2e:three"))
		suite.Env().Grant(ctx, who.User, healthy...)
		_, line := expectClaim(ctx, kubelet(ctx), must(who.Caller()), health)
		expectGroups(line, "e2e:one", "e2e:two|e2e:three", "system:authenticated")
	})

	It("token of a service account: has its user name", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), func(ctx SpecContext) {
		expectClaim(ctx, kubelet(ctx), bearer(ctx, "", healthy), health)
	})

	It("token for kubelets: has its user name", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), Label(OnHardened),
		func(ctx SpecContext) {
			_, line := expectClaim(ctx, kubelet(ctx), bearer(ctx, kubeletAudience, healthy), health)
			Expect(line.Findings).To(BeEmpty())
		})

	It("token that expires soon: has its user name", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), Label(OnHost),
		func(ctx SpecContext) {
			expectClaim(ctx, kubelet(ctx), withLifetime(ctx, bearer(ctx, "", healthy), time.Hour), health)
		})

	It("token in a sub-protocol: has its user name, and the kubelet does not receive the token",
		AllowsBy("KA-AUTH-1", "KA-EXEC-1"),
		Label(OnHardened), func(ctx SpecContext) {
			who := bearer(ctx, "", may("create", "exec"))
			call := bySubprotocol(get(processes[0].path), who.Token)
			who.Token = ""
			expectClaim(ctx, kubelet(ctx), who, call, http.StatusNotFound)
		})

	It("certificate with an invalid token: has the user name of the certificate", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"),
		func(ctx SpecContext) {
			who := caller(ctx, healthy)
			who.Token = "not-a-token"
			expectClaim(ctx, kubelet(ctx), who, health)
		})

	It("token with a certificate of an unknown CA: has the user name of the token", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"),
		func(ctx SpecContext) {
			who := bearer(ctx, "", healthy)
			who.Certificate = strangeAuthority().certify("e2e-stranger").Certificate
			expectClaim(ctx, kubelet(ctx), who, health)
		})
})

func expectGroups(line KubeletLine, groups ...string) {
	GinkgoHelper()
	if suite.Settings.Profile == Hardened && suite.Host.Missing() == "" {
		Expect(line.Groups).To(ConsistOf(groups))
	}
}

// A header must not change the user of an authenticated caller.
var _ = DescribeTable("a user name in a header does not change the user of an authenticated caller:",
	AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), Attack("T24"),
	func(ctx SpecContext, lines ...string) {
		expectClaim(ctx, kubelet(ctx), caller(ctx, healthy), health.With(lines...))
	},
	Entry("X-Remote headers", "X-Remote-User: system:admin", "X-Remote-Group: system:masters"),
	Entry("impersonation headers", "Impersonate-User: system:admin", "Impersonate-Group: system:masters"),
)
