// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// The audit line is what an operator finds about a request that is not in the API server's audit
// log.
var _ = Describe("the audit line", Label(OnHost, OnHardened), func() {
	It("has the user, the request, the target and the required right", Allows("KA-EXEC-1"), func(ctx SpecContext) {
		reply := send(ctx, kubelet(ctx), caller(ctx, may("create", "exec")),
			Calling(http.MethodPost, "/exec/a/b/0-0-0/c?output=1&command=secret"))
		line := suite.ExpectForwarded(ctx, reply, http.StatusNotFound, "KA-EXEC-1")
		Expect([]string{line.Namespace, line.Pod, line.Container}).To(Equal([]string{"a", "b", "c"}))
		Expect([]string{line.Method, line.Path, line.Verb, line.Subresource}).To(
			Equal([]string{"POST", "/exec/a/b/0-0-0/c", "create", "exec"}))
		Expect(line.User).To(Equal(reply.Caller.User))
		Expect(line.CacheHit).To(BeFalse())
	})

	It("shows that the second decision was cached", Allows("KA-HEALTH-1"), func(ctx SpecContext) {
		who, port := caller(ctx, healthy), kubelet(ctx)
		_, first := expectClaim(ctx, port, who, health)
		_, second := expectClaim(ctx, port, who, health)
		Expect([]bool{first.CacheHit, second.CacheHit}).To(Equal([]bool{false, true}))
	})

	It("has the user of a denied request and the missing right", Denies("KA-LOG-1"), func(ctx SpecContext) {
		reply := send(ctx, kubelet(ctx), caller(ctx), get("/logs/pods/a_b_0-0-0/c/0.log"))
		line := suite.ExpectDenied(ctx, reply, http.StatusForbidden, "KA-LOG-1")
		Expect([]string{line.User, line.Verb, line.Subresource}).To(Equal([]string{reply.Caller.User, "get", "log"}))
		Expect([]string{line.Namespace, line.Pod, line.Container}).To(Equal([]string{"a", "b", "c"}))
	})

	It("has no token, nor has any line of the log", Allows("KA-AUTH-1"), func(ctx SpecContext) {
		who := bearer(ctx, "", healthy)
		reply := send(ctx, kubelet(ctx), who, health)
		suite.ExpectForwarded(ctx, reply, http.StatusOK, "KA-HEALTH-1")
		// The third part of a token is its signature.
		found, err := suite.Host.Run(ctx, target(),
			"grep -rlF '"+who.Token[len(who.Token)-40:]+"' /var/log/pods/kube-system_"+KubeletProxy+"-*/ || true")
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeEmpty())
	})
})
