// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = Describe("while scope-sync is stopped", Serial, Ordered, Label(Disruptive, OnHost, OnWorker, Slow),
	func() {
		const late = "late"
		// unbound returns the late account with a token that names no pod. With a scope in force,
		// that is enough for a denial.
		unbound := func(ctx SpecContext) *Identity {
			return suite.AsBearer(must(suite.ReadToken(ctx, requested(late, nil)(ctx))))
		}

		BeforeAll(func(ctx SpecContext) {
			scopeSync.kill(ctx)
			account := fixtures.ServiceAccount(stage.Namespace, late)
			account.Annotations = scope("pods")
			DeferCleanup(func(ctx context.Context) error { return suite.Objects.Delete(ctx, account) })
			Expect(suite.Objects.Create(ctx, account)).To(Succeed())
		})

		It("accounts on the last lists are limited", Denies("NS-POD-1"), func(ctx SpecContext) {
			decide(ctx, podOf(agent), otherPods, "[NA-POD-2]")
		})

		It("accounts on the last lists keep the rights of their own node", Allows("NS-POD-1"),
			func(ctx SpecContext) { decide(ctx, podOf(agent), ownPods) })

		It("admission checks the writes of accounts on the last lists", Denies("NS-ADMIT-1"), func(ctx SpecContext) {
			admit(ctx, podOf(agent), tainted(own), "[NR-NODE-4]")
		})

		It("an account that is not on the lists is not limited, and its annotation stays pending",
			AllowsBy("NS-IDENT-2", Behind), func(ctx SpecContext) {
				expectPassed(ctx, unbound(ctx), ownPods(ctx, suite.Env()), Behind)
				Expect(must(pending(ctx, stage.Namespace, late))).NotTo(BeEmpty())
			})

		It("scope-sync lists the missed account after its restart", Denies("NS-IDENT-2"), func(ctx SpecContext) {
			since := time.Now()
			scopeSync.bringBack(ctx)
			awaitLive(ctx, late)
			Measured("an annotation that waited for scope-sync was in force after its return",
				time.Since(since).Round(100*time.Millisecond).String())
			suite.ExpectForbidden(ctx, unbound(ctx), ownPods(ctx, suite.Env()), "NS-IDENT-2", "names no pod")
		})
	})

var _ = Describe("while node-restriction is stopped, for accounts", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, Slow), func() {
		note := Patch(api.ServiceAccounts).With(marked(nodescope.ScopeAnnotation, nil))

		BeforeAll(func(ctx SpecContext) { restriction.kill(ctx) })

		It("a write of an account with a scope is an error", DeniesBy("NS-ADMIT-1", Behind), func(ctx SpecContext) {
			for _, makeRequest := range []RequestFunc{theNode(own, Patch(api.Nodes)), eventFrom(own, own)} {
				request := makeRequest(ctx, suite.Env())
				code, message, err := podOf(agent)().Send(ctx, request)
				Expect(err).NotTo(HaveOccurred())
				Expect(code).To(Equal(http.StatusInternalServerError), "%s: %s", request, message)
				Expect(message).To(ContainSubstring(ScopedEntry))
			}
		})

		It("an account with a scope cannot remove it", DeniesBy("NS-WRITE-1", Behind), func(ctx SpecContext) {
			code, message, err := podOf(statuses)().Send(ctx, note.In(stage.Namespace).Named(statuses))
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusInternalServerError), message)
		})

		It("an account with a scope can read", Allows("NS-POD-1"), func(ctx SpecContext) {
			decide(ctx, podOf(agent),
				ownPods)
		})

		It("other accounts can write", AllowsBy("NS-ADMIT-1", Behind), func(ctx SpecContext) {
			code, message, err := podOf(plain)().Send(ctx, Patch(api.Nodes).Named(other()))
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusOK), message)
		})

		It("node-restriction decides again after its restart", Denies("NS-ADMIT-1"), func(ctx SpecContext) {
			restriction.bringBack(ctx)
			admit(ctx, podOf(agent), tainted(own), "[NR-NODE-4]")
		})
	})
