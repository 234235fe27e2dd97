// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// questions is the number of token reviews that this proxy allows one address.
	questions = 5
	asked     = "bulkhead_kubelet_token_reviews_total"
)

// The second proxy has a small limit for each address. The limit refills more slowly than a run
// lasts, so timing does not matter.
var _ = Describe("a flood from one address", Ordered, Label(OnHost, OnHardened), func() {
	var (
		port *Port
		good Caller
	)

	BeforeAll(func(ctx SpecContext) {
		port = startSideProxy(ctx, SideProxy{Flags: []string{
			"--authentication-token-review-client-qps=0.0001",
			fmt.Sprintf("--authentication-token-review-client-burst=%d", questions),
			"--max-streams-per-user=1",
		}})
		good = bearer(ctx, "", healthy)
	})

	// try sends a new invalid token.
	try := func(ctx context.Context, i int) Reply {
		GinkgoHelper()
		return must(port.Send(ctx, Caller{Token: fmt.Sprintf("not-a-token-%d", i)}, health))
	}

	It("of tokens: token reviews up to the limit", DeniesBy("KA-LIMIT-1", "KA-AUTH-1"), func(ctx SpecContext) {
		suite.ExpectForwarded(ctx, must(port.Send(ctx, good, health)), http.StatusOK, "KA-HEALTH-1")
		for i := 1; i < questions; i++ {
			suite.ExpectDenied(ctx, try(ctx, i), http.StatusUnauthorized, "KA-AUTH-1")
		}
	})

	It("of tokens: no token reviews above the limit", Denies("KA-LIMIT-1"), func(ctx SpecContext) {
		for i := range 50 {
			reply := try(ctx, questions+i)
			Expect(reply.Code).To(Equal(http.StatusTooManyRequests), reply.String())
			Expect(reply.Body).To(HaveSuffix("[KA-LIMIT-1]\n"))
			Expect(strconv.Atoi(reply.Header.Get("Retry-After"))).To(BeNumerically(">", 0))
		}
		Expect(suite.KubeletProxyMetric(ctx, port, asked, "")).To(BeEquivalentTo(questions))
	})

	It("of tokens: a valid token that was seen before is accepted", AllowsBy("KA-LIMIT-1", "KA-HEALTH-1"),
		func(ctx SpecContext) {
			expectClaim(ctx, port, good, health)
		})

	It("of tokens: a certificate is accepted", AllowsBy("KA-LIMIT-1", "KA-HEALTH-1"), func(ctx SpecContext) {
		expectClaim(ctx, port, caller(ctx, healthy), health)
	})

	It("of streams: limited to the user's share", Denies("KA-LIMIT-1"), func(ctx SpecContext) {
		pod := running(ctx, suite.Env().Pod(ctx, target(), withShell(tickScript)))
		logs := get("/containerLogs/" + pod.Namespace + "/" + pod.Name + "/" + shell + "?follow=true")
		who := caller(ctx, may("get", "containerlogs"))
		follow(ctx, port, who, logs).expectLine()
		reply := must(port.Send(ctx, who, logs))
		suite.ExpectDenied(ctx, reply, http.StatusTooManyRequests, "KA-LIMIT-1")
		follow(ctx, port, caller(ctx, may("get", "containerlogs")), logs).expectLine()
	})
})
