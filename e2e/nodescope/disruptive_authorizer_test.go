// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	hung = 10 * time.Second
	// sent is shorter than a request to a hung process would take: the API server waits for three
	// seconds.
	sent = 2 * time.Second
)

var _ = Describe("while node-authorizer is stopped", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, Slow), func() {
		BeforeAll(func(ctx SpecContext) {
			TakeMachine(ctx)
			authorizer.kill(ctx)
		})

		It("an account with a scope is denied the pods of its own node", DeniesBy("NS-UNREADY", Behind),
			func(ctx SpecContext) {
				expectUndecided(ctx, podOf(agent)(), ownPods(ctx, suite.Env()))
			})

		It("an account with a scope is denied other nodes' pods, and resources outside of the scope",
			DeniesBy("NS-UNREADY", Behind), func(ctx SpecContext) {
				expectUndecided(ctx, podOf(agent)(), otherPods(ctx, suite.Env()))
				expectUndecided(ctx, podOf(agent)(), List(api.Deployments))
			})

		It("an account in audit mode is denied, because its mode cannot be read", DeniesBy("NS-UNREADY", Behind),
			func(ctx SpecContext) {
				expectUndecided(ctx, podOf(watched)(), otherPods(ctx, suite.Env()))
			})

		It("other accounts are not affected", AllowsBy("NS-UNREADY", Behind), func(ctx SpecContext) {
			expectPassed(ctx, podOf(plain)(), otherPods(ctx, suite.Env()), Behind)
			took := repeatFor(ctx, podOf(plain)(), List(api.Services).In("default"), 10*time.Second)
			Measured("an account without a scope while the node authorizer is dead", Latencies(took))
			Expect(median(took)).To(BeNumerically("<", sent))
		})

		It("node-authorizer decides again after its restart", Denies("NS-POD-1"), func(ctx SpecContext) {
			authorizer.bringBack(ctx)
			suite.ExpectForbidden(ctx, podOf(agent)(), otherPods(ctx, suite.Env()), "NS-POD-1", "[NA-POD-2]")
			expectPassed(ctx, podOf(agent)(), ownPods(ctx, suite.Env()), "NS-POD-1")
		})
	})

var _ = Describe("while node-authorizer hangs", Serial, Ordered, Label(Disruptive, OnHost, OnWorker, Slow), func() {
	var before []time.Duration

	BeforeAll(func(ctx SpecContext) {
		TakeMachine(ctx)
		before = repeatFor(ctx, podOf(plain)(), List(api.Services).In("default"), 5*time.Second)
		authorizer.hang(ctx)
	})

	It("an account with a scope is denied", DeniesBy("NS-UNREADY", Behind), func(ctx SpecContext) {
		expectUndecided(ctx, podOf(agent)(), ownPods(ctx, suite.Env()))
	})

	It("other accounts wait no longer than before", AllowsBy("NS-UNREADY", Behind), func(ctx SpecContext) {
		during := repeatFor(ctx, podOf(plain)(), List(api.Services).In("default"), hung)
		Measured("an account without a scope before the node authorizer hangs", Latencies(before))
		Measured("an account without a scope while it hangs", Latencies(during))
		Expect(median(during)).To(BeNumerically("<", sent), "it was sent to who hangs")
	})

	It("node-authorizer decides again when it continues", Denies("NS-POD-1"), func(ctx SpecContext) {
		authorizer.wake(ctx)
		suite.ExpectForbidden(ctx, podOf(agent)(), otherPods(ctx, suite.Env()), "NS-POD-1", "[NA-POD-2]")
		expectPassed(ctx, podOf(agent)(), ownPods(ctx, suite.Env()), "NS-POD-1")
	})
})
