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

var _ = Describe("scope-sync is killed and stays dead", Serial, Ordered, Label(Disruptive, OnHost, OnWorker, Slow),
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

		It("and the last lists hold: who is in them is held", Denies("NS-POD-1"), func(ctx SpecContext) {
			decide(ctx, podOf(agent), otherPods, "[NA-POD-2]")
		})

		It("and passes as before", Allows("NS-POD-1"), func(ctx SpecContext) { decide(ctx, podOf(agent), ownPods) })

		It("and its writes are looked at", Denies("NS-ADMIT-1"), func(ctx SpecContext) {
			admit(ctx, podOf(agent), tainted(own), "[NR-NODE-4]")
		})

		It("and who is not is not, and is not said to be", AllowsBy("NS-IDENT-2", Behind), func(ctx SpecContext) {
			expectPassed(ctx, unbound(ctx), ownPods(ctx, suite.Env()), Behind)
			Expect(must(pending(ctx, stage.Namespace, late))).NotTo(BeEmpty())
		})

		It("and when it is back, it takes up what was missed", Denies("NS-IDENT-2"), func(ctx SpecContext) {
			since := time.Now()
			scopeSync.bringBack(ctx)
			awaitLive(ctx, late)
			Measured("an annotation that waited for scope-sync was in force after its return",
				time.Since(since).Round(100*time.Millisecond).String())
			suite.ExpectForbidden(ctx, unbound(ctx), ownPods(ctx, suite.Env()), "NS-IDENT-2", "names no pod")
		})
	})

var _ = Describe("node-restriction is killed and stays dead, for accounts", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, Slow), func() {
		note := Patch(api.ServiceAccounts).With(marked(nodescope.ScopeAnnotation, nil))

		BeforeAll(func(ctx SpecContext) { restriction.kill(ctx) })

		It("and what they write is an error, never an admission", DeniesBy("NS-ADMIT-1", Behind), func(ctx SpecContext) {
			for _, makeRequest := range []RequestFunc{theNode(own, Patch(api.Nodes)), eventFrom(own, own)} {
				request := makeRequest(ctx, suite.Env())
				code, message, err := podOf(agent)().Send(ctx, request)
				Expect(err).NotTo(HaveOccurred())
				Expect(code).To(Equal(http.StatusInternalServerError), "%s: %s", request, message)
				Expect(message).To(ContainSubstring(ScopedEntry))
			}
		})

		It("and nobody frees itself meanwhile", DeniesBy("NS-WRITE-1", Behind), func(ctx SpecContext) {
			code, message, err := podOf(statuses)().Send(ctx, note.In(stage.Namespace).Named(statuses))
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusInternalServerError), message)
		})

		It("and what they read goes on", Allows("NS-POD-1"), func(ctx SpecContext) { decide(ctx, podOf(agent), ownPods) })

		It("and whatever others write", AllowsBy("NS-ADMIT-1", Behind), func(ctx SpecContext) {
			code, message, err := podOf(plain)().Send(ctx, Patch(api.Nodes).Named(other()))
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusOK), message)
		})

		It("and when it is back, it decides again", Denies("NS-ADMIT-1"), func(ctx SpecContext) {
			restriction.bringBack(ctx)
			admit(ctx, podOf(agent), tainted(own), "[NR-NODE-4]")
		})
	})
