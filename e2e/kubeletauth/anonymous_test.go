// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Without the flag, no request is anonymous. With the flag, a request without credentials is
// anonymous. A request with invalid credentials is still rejected.
var _ = Describe("with --anonymous-auth", Ordered, ContinueOnFailure, Label(OnHardened), func() {
	var port *Port

	BeforeAll(func(ctx SpecContext) {
		port = startSideProxy(ctx, SideProxy{Flags: []string{"--anonymous-auth=true",
			"--authorization-webhook-cache-unauthorized-ttl=0s"}})
	})

	anonymous := Caller{User: "system:anonymous"}

	It("a caller without credentials has the rights of system:anonymous", AllowsBy("KA-ANON-1", "KA-LOG-1"),
		func(ctx SpecContext) {
			suite.Env().Grant(ctx, anonymous.User, may("get", "log").named(target())...)
			reply := must(port.Send(ctx, anonymous, get("/logs/")))
			line := suite.ExpectForwarded(ctx, reply, http.StatusOK, "KA-LOG-1")
			expectGroups(line, "system:unauthenticated")
		})

	It("a caller without credentials has no other rights", DeniesBy("KA-ANON-1", "KA-STATS-1"), func(ctx SpecContext) {
		expectClaim(ctx, port, anonymous, get("/stats/summary"))
	})

	It("a caller with invalid credentials is rejected", DeniesBy("KA-ANON-1", "KA-AUTH-1"), func(ctx SpecContext) {
		for _, who := range []Caller{{Token: "not-a-token"}, strangeAuthority().certify("e2e-stranger")} {
			expectClaim(ctx, port, who, get("/stats/summary"), http.StatusUnauthorized)
		}
	})
})
