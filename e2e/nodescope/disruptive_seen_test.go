// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// widened is an account of these specs.
const widened = "widened"

// A component that does not receive a change uses the old scope. During that time, scope-sync must
// not report the account as live.
var _ = Describe("a scope that is widened while a component does not receive updates", Serial,
	Label(Disruptive, OnHost, OnWorker, Slow), func() {
		DescribeTable("is pending until the component has seen it:", func(ctx SpecContext, stopped component) {
			account := fixtures.ServiceAccount(stage.Namespace, widened)
			account.Annotations = scope("pods")
			DeferCleanup(func(ctx context.Context) error { return suite.Objects.Delete(ctx, account) })
			Expect(suite.Objects.Create(ctx, account)).To(Succeed())
			awaitLive(ctx, widened)

			stopped.hang(ctx)
			const wider = `{"metadata":{"annotations":{"bulkhead.dev/node-scoped-resources":"pods, secrets"}}}`
			_, err := suite.Client.CoreV1().ServiceAccounts(stage.Namespace).Patch(ctx, widened, types.MergePatchType,
				[]byte(wider), metav1.PatchOptions{})
			Expect(err).NotTo(HaveOccurred())
			isPending := func() ([]string, error) { return pending(ctx, stage.Namespace, widened) }
			Eventually(ctx, isPending).WithTimeout(listed).WithPolling(200 * time.Millisecond).ShouldNot(BeEmpty())
			Consistently(ctx, isPending).WithTimeout(5 * time.Second).WithPolling(500 * time.Millisecond).ShouldNot(BeEmpty())
			// Other accounts are not affected.
			Expect(must(pending(ctx, stage.Namespace, agent))).To(BeEmpty())

			stopped.wake(ctx)
			awaitLive(ctx, widened)
			who := suite.AsForged(
				Bearer{User: "system:serviceaccount:" + stage.Namespace + ":" + widened,
					Groups: []string{"system:serviceaccounts:" + stage.Namespace}})
			suite.ExpectForbidden(ctx, who, List(api.Secrets), "NS-IDENT-2", "names no pod")
		},
			Entry("node-authorizer", Denies("NS-IDENT-2"), authorizer),
			Entry("node-restriction", Denies("NS-IDENT-2"), restriction),
		)
	})
