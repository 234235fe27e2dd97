// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const componentBinding = "bulkhead:node-authorizer"

// restored bounds the time until node-authorizer is ready after its rights are back.
const restored = time.Minute

// Without its rights node-authorizer cannot list the cluster's objects. If it restarts in that
// state, it never becomes ready.
var _ = Describe("node-authorizer before its informers have synced", Serial, Ordered, Label(Disruptive, OnHost, Slow),
	func() {
		BeforeAll(func(ctx SpecContext) {
			binding := must(suite.Client.RbacV1().ClusterRoleBindings().Get(ctx, componentBinding, metav1.GetOptions{}))
			DeferCleanup(restoreRights, binding.Subjects)
			bind(ctx, nil)
			suite.RestartComponent(ctx)
		})

		It("lets other authorizers allow", AllowsBy("NA-UNREADY", Behind), func(ctx SpecContext) {
			request := GetPath("/version")
			if suite.Settings.Profile == Hardened {
				request = List(api.Services)
			}
			decide(ctx, plainly(request))
		})

		It("gives its reason when no other authorizer allows", Denies("NA-UNREADY"), func(ctx SpecContext) {
			decide(ctx, plainly(List(api.Deployments)))
		})
	})

func bind(ctx context.Context, subjects []rbacv1.Subject) {
	GinkgoHelper()
	bindings := suite.Client.RbacV1().ClusterRoleBindings()
	binding := must(bindings.Get(ctx, componentBinding, metav1.GetOptions{}))
	binding.Subjects = subjects
	must(bindings.Update(ctx, binding, metav1.UpdateOptions{}))
}

// restoreRights restores the rights and waits until node-authorizer decides again.
func restoreRights(ctx context.Context, subjects []rbacv1.Subject) {
	bind(ctx, subjects)
	suite.AwaitWebhook(ctx, restored, ComponentReady)
}
