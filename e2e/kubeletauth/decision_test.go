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

// The second proxy runs as an account that may not create reviews in the API server.
var _ = Describe("a proxy without a connection to the API server", Ordered, ContinueOnFailure, Label(OnHardened),
	func() {
		var port *Port

		BeforeAll(func(ctx SpecContext) { port = startSideProxy(ctx, SideProxy{Account: "default"}) })

		It("forwards no request, not even of an administrator", Denies("KA-DECISION-1"), func(ctx SpecContext) {
			who := caller(ctx, everything)
			reply, _ := expectClaim(ctx, port, who, health, http.StatusInternalServerError)
			Expect(reply.Body).To(
				HavePrefix("Authorization error (user=" + who.User + ", verb=get, resource=nodes, subresource=healthz)"))
		})

		It("does not authenticate a token", Denies("KA-AUTH-1"), func(ctx SpecContext) {
			expectClaim(ctx, port, bearer(ctx, "", healthy), health, http.StatusUnauthorized)
		})
	})

var _ = It("with a decision, a request is forwarded", AllowsBy("KA-DECISION-1", "KA-HEALTH-1"), func(ctx SpecContext) {
	expectClaim(ctx, kubelet(ctx), caller(ctx, everything), health)
})

// The second proxy rechecks a stream every second, instead of every five minutes. The stream is a
// followed log.
var _ = Describe("a stream", Ordered, ContinueOnFailure, Label(OnHardened), func() {
	var (
		port *Port
		logs Call
	)

	BeforeAll(func(ctx SpecContext) {
		port = startSideProxy(ctx, SideProxy{Flags: []string{
			"--stream-recheck-interval=1s", "--authorization-webhook-cache-authorized-ttl=0s",
			"--authentication-token-webhook-cache-ttl=0s",
		}})
		pod := running(ctx, suite.Env().Pod(ctx, target(), withShell(tickScript)))
		logs = get("/containerLogs/" + pod.Namespace + "/" + pod.Name + "/" + shell + "?follow=true")
	})

	It("continues while the right exists", Allows("KA-STREAM-1"), func(ctx SpecContext) {
		followed := follow(ctx, port, caller(ctx, may("get", "containerlogs")), logs)
		Eventually(ctx, func() (float64, error) {
			return suite.KubeletProxyMetric(ctx, port, "bulkhead_kubelet_stream_rechecks_total", `outcome="kept"`)
		}).WithTimeout(Soon).WithPolling(200 * time.Millisecond).Should(BeNumerically(">", 0))
		// Earlier lines of the log are read at once, so a line after two seconds is a new line.
		for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
			followed.expectLine()
		}
	})

	It("ends when the right is removed", Denies("KA-STREAM-1"), func(ctx SpecContext) {
		who, took := revocable(ctx, may("get", "containerlogs"))
		followed := follow(ctx, port, who, logs)
		followed.expectLine()
		ended := time.Now()
		took()
		followed.expectEnd()
		Measured("until a stream ended without its right, at a second's interval",
			time.Since(ended).Round(100*time.Millisecond).String())
		followed.expectCause(ctx, "the user no longer has access")
	})

	It("ends when its token expires", Denies("KA-STREAM-1"), func(ctx SpecContext) {
		who := bearer(ctx, "", may("get", "containerlogs"))
		followed := follow(ctx, port, who, logs)
		followed.expectLine()
		removeAccount(ctx, who)
		followed.expectEnd()
		followed.expectCause(ctx, "the credential no longer authenticates the same user")
	})
})
