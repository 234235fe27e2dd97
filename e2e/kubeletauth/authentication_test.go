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
var _ = Describe("who proves who they are", func() {
	It("by a certificate of the cluster is its user", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), func(ctx SpecContext) {
		_, line := expectClaim(ctx, kubelet(ctx), caller(ctx, healthy), health)
		expectGroups(line, "system:authenticated")
	})

	It("by a certificate of the cluster is in its groups", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), func(ctx SpecContext) {
		who := must(suite.CertifiedUser(ctx, suite.Env().NewName("e2e-caller"), "e2e:one", "e2e:two|e2e:three"))
		suite.Env().Grant(ctx, who.User, healthy...)
		_, line := expectClaim(ctx, kubelet(ctx), must(who.Caller()), health)
		expectGroups(line, "e2e:one", "e2e:two|e2e:three", "system:authenticated")
	})

	It("by a token of a service account is that", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), func(ctx SpecContext) {
		expectClaim(ctx, kubelet(ctx), bearer(ctx, "", healthy), health)
	})

	It("by a token for kubelets is that", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), Label(OnHardened), func(ctx SpecContext) {
		_, line := expectClaim(ctx, kubelet(ctx), bearer(ctx, kubeletAudience, healthy), health)
		Expect(line.Findings).To(BeEmpty())
	})

	It("by a token that ends soon is that", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), Label(OnHost), func(ctx SpecContext) {
		expectClaim(ctx, kubelet(ctx), withLifetime(ctx, bearer(ctx, "", healthy), time.Hour), health)
	})

	It("by a token in a sub-protocol is that, which the kubelet does not see", AllowsBy("KA-AUTH-1", "KA-EXEC-1"),
		Label(OnHardened), func(ctx SpecContext) {
			who := bearer(ctx, "", may("create", "exec"))
			call := bySubprotocol(get(processes[0].path), who.Token)
			who.Token = ""
			expectClaim(ctx, kubelet(ctx), who, call, http.StatusNotFound)
		})

	It("by a certificate is not asked for a token, which may be a bad one", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"),
		func(ctx SpecContext) {
			who := caller(ctx, healthy)
			who.Token = "not-a-token"
			expectClaim(ctx, kubelet(ctx), who, health)
		})

	It("by a token may show a certificate of strangers", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), func(ctx SpecContext) {
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
var _ = DescribeTable("a name in a header of a caller who is somebody changes nothing",
	AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), Attack("T24"),
	func(ctx SpecContext, lines ...string) {
		expectClaim(ctx, kubelet(ctx), caller(ctx, healthy), health.With(lines...))
	},
	Entry("as request headers have it", "X-Remote-User: system:admin", "X-Remote-Group: system:masters"),
	Entry("as impersonation has it", "Impersonate-User: system:admin", "Impersonate-Group: system:masters"),
)
