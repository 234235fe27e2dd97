// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// tooMany is more requirements than any review of a kubelet has.
	tooMany   = 1001
	decisions = "bulkhead_authorization_decisions_total"
)

// T22: the API server caches no answer of Bulkhead.
var _ = Describe("answers of Bulkhead", func() {
	const many = 3
	ask := func(ctx context.Context, request Request, labels string, want int) float64 {
		GinkgoHelper()
		suite.SkipOnInTree("in-tree has no webhook, so the API server caches no answers of one")
		node := suite.AsNode(suite.Env().Own)
		before, err := suite.ComponentMetric(ctx, decisions, labels)
		Expect(err).NotTo(HaveOccurred())
		for range many {
			code, message, err := node.Send(ctx, request)
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(want), message)
		}
		after, err := suite.ComponentMetric(ctx, decisions, labels)
		Expect(err).NotTo(HaveOccurred())
		return after - before
	}

	// No other client makes this request.
	It("get no cached denial", Denies("NA-UNI-RUNTIMECLASSES"), Attack("T22"), Label(OnHost),
		func(ctx SpecContext) {
			asked := ask(ctx, DeleteAll(api.RuntimeClasses),
				`resource="runtimeclasses",rule="NA-UNI-RUNTIMECLASSES",verb="deletecollection"`, http.StatusForbidden)
			Expect(asked).To(BeEquivalentTo(many), "each was decided anew")
		})

	It("get no cached allowance", Allows("NA-UNI-CSIDRIVERS"), Attack("T22"), Label(OnHost), func(ctx SpecContext) {
		asked := ask(ctx, List(api.CSIDrivers),
			`resource="csidrivers",rule="NA-UNI-CSIDRIVERS",verb="list"`, http.StatusOK)
		Expect(asked).To(BeNumerically(">=", many), "each was decided anew")
	})
})
