// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// The rules on pods rely on these parts of the API's own validation, which apply to all users. A
// mirror pod is bound to a node from its creation. No pod becomes a mirror pod or stops being one.
// So a node gains nothing by such a write.
var _ = Describe("the API's validation of mirror pods", func() {
	annotate := func(value any) any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{fixtures.MirrorAnnotation: value}}}
	}
	mirror := func(ctx context.Context, node string) Request {
		env := suite.Env()
		pod := fixtures.Pod(env.Namespace(ctx), env.NewName("mirror"), node, fixtures.Mirror(env.Node(ctx, env.Own)))
		return Create(api.Pods).In(pod.Namespace).With(pod)
	}
	expectInvalid := func(ctx context.Context, request Request, because string) {
		GinkgoHelper()
		code, message, err := suite.AsAdmin().Send(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusUnprocessableEntity), message)
		Expect(message).To(ContainSubstring(fixtures.MirrorAnnotation))
		Expect(message).To(ContainSubstring(because))
	}

	It("accepts a mirror pod that is bound to a node", Allows("NA-POD-3"), func(ctx SpecContext) {
		code, message, err := suite.AsAdmin().Send(ctx, mirror(ctx, suite.Env().Own))
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusCreated), message)
	})

	It("rejects a mirror pod that is not bound to a node", Denies("NA-POD-3"), func(ctx SpecContext) {
		expectInvalid(ctx, mirror(ctx, ""), "must set spec.nodeName if mirror pod annotation is set")
	})

	It("applies to a tenant who may write pods", Denies("NA-POD-3"), func(ctx SpecContext) {
		env := suite.Env()
		name := env.NewName("tenant")
		env.Grant(ctx, name, rbacv1.PolicyRule{Verbs: []string{"create", "patch"}, APIGroups: []string{""},
			Resources: []string{"pods"}})
		tenant, err := suite.CertifiedUser(ctx, name)
		Expect(err).NotTo(HaveOccurred())
		pod := env.Pod(ctx, env.Own)
		// RBAC may need a moment for the grant. Only then does the validation decide.
		Eventually(ctx, func() (int, error) {
			code, _, err := tenant.Send(ctx, Patch(api.Pods).In(pod.Namespace).Named(pod.Name).With(map[string]any{}))
			return code, err
		}).WithTimeout(Soon).WithPolling(100 * time.Millisecond).Should(Equal(http.StatusOK))
		for _, request := range []Request{mirror(ctx, ""),
			Patch(api.Pods).In(pod.Namespace).Named(pod.Name).With(annotate("e2e"))} {
			code, message, err := tenant.Send(ctx, request)
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusUnprocessableEntity), message)
			Expect(message).To(ContainSubstring(fixtures.MirrorAnnotation))
		}
	})

	It("does not let a pod become a mirror pod", Denies("NA-POD-3"), func(ctx SpecContext) {
		pod := suite.Env().Pod(ctx, suite.Env().Own)
		request := Patch(api.Pods).In(pod.Namespace).Named(pod.Name).With(annotate("e2e"))
		expectInvalid(ctx, request, "may not add mirror pod annotation")
	})

	DescribeTable("does not let a mirror pod", Denies("NA-POD-3"),
		func(ctx SpecContext, value any) {
			env := suite.Env()
			pod := env.Pod(ctx, env.Own, fixtures.Mirror(env.Node(ctx, env.Own)))
			request := Patch(api.Pods).In(pod.Namespace).Named(pod.Name).With(annotate(value))
			expectInvalid(ctx, request, "may not")
		},
		Entry("change its mirror annotation", "changed"),
		Entry("lose its mirror annotation", nil),
	)
})
