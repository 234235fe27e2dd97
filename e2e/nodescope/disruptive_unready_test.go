// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const authorizerUser = "bulkhead:node-authorizer"

// node-authorizer restarts without the right to list accounts. It then knows all objects except the
// scopes of accounts.
var _ = Describe("node-authorizer before it has seen the accounts", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, Slow), func() {
		BeforeAll(func(ctx SpecContext) {
			withhold(ctx, api.ServiceAccounts.Resource)
			suite.RestartComponent(ctx)
			awaitScopeWebhook(ctx, time.Minute, ComponentAlive)
		})

		DescribeTable("denies accounts on the list:", Denies("NS-UNREADY"), decide,
			Entry("pods of the own node", podOf(agent), ownPods),
			Entry("pods of another node", podOf(agent), otherPods),
			Entry("a resource outside of the scope", podOf(agent), plainly(List(api.Deployments))),
			Entry("a non-resource path", podOf(agent), plainly(GetPath("/metrics"))),
			Entry("impersonation of the own node", podOf(agent), plainly(Ask("impersonate:associated-node", api.Nodes))),
			Entry("an account in audit mode", podOf(watched), otherPods),
			Entry("a pod with a scope of its own", podOf(shared+"-"+narrow), ownPods),
		)

		// With NoOpinion, the request would go to RBAC, which allows everything.
		It("never abstains for these accounts", Denies("NS-UNREADY"), func(ctx SpecContext) {
			decision := must(suite.AskScoped(ctx, podOf(agent)(), List(api.Deployments)))
			Expect(decision.Denied).To(BeTrue(), decision.Reason)
			Expect(decision.Reason).To(HaveSuffix("[NS-UNREADY]"))
		})

		It("leaves other accounts to RBAC", AllowsBy("NS-UNREADY", Behind), func(ctx SpecContext) {
			expectPassed(ctx, podOf(plain)(), otherPods(ctx, suite.Env()), Behind)
		})

		It("continues to decide about nodes", Allows("NS-UNREADY"), func(ctx SpecContext) {
			code, message, err := suite.AsNode(own()).Send(ctx, Get(api.Nodes).Named(own()))
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusOK), message)
			code, message, err = suite.AsNode(own()).Send(ctx, Get(api.Nodes).Named(other()))
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusForbidden), message)
			Expect(message).To(ContainSubstring("[NA-NODE-1]"))
		})
	})

// withhold removes the right to read a resource from every role of node-authorizer, until the end
// of the container.
func withhold(ctx context.Context, resource string) {
	GinkgoHelper()
	roles := suite.Client.RbacV1().ClusterRoles()
	bindings := must(suite.Client.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{}))
	withheld := 0
	DeferCleanup(func(ctx context.Context) { awaitScopeWebhook(ctx, time.Minute, ComponentReady) })
	for i := range bindings.Items {
		isOurs := func(s rbacv1.Subject) bool { return s.Kind == rbacv1.UserKind && s.Name == authorizerUser }
		if !slices.ContainsFunc(bindings.Items[i].Subjects, isOurs) {
			continue
		}
		role := must(roles.Get(ctx, bindings.Items[i].RoleRef.Name, metav1.GetOptions{}))
		before := role.DeepCopy().Rules
		role.Rules = slices.DeleteFunc(role.Rules,
			func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, resource) })
		if len(role.Rules) == len(before) {
			continue
		}
		withheld++
		DeferCleanup(func(ctx context.Context) {
			role := must(roles.Get(ctx, role.Name, metav1.GetOptions{}))
			role.Rules = before
			must(roles.Update(ctx, role, metav1.UpdateOptions{}))
		})
		must(roles.Update(ctx, role, metav1.UpdateOptions{}))
	}
	Expect(withheld).To(BeNumerically(">", 0), "no role of %s is about %s", authorizerUser, resource)
	identity := suite.AsForged(Bearer{User: authorizerUser, Groups: []string{"system:authenticated"}})
	Eventually(ctx, func() (bool, error) {
		decision, err := suite.Review(ctx, identity, List(api.ServiceAccounts))
		return decision.Allowed, err
	}).WithTimeout(Soon).WithPolling(100 * time.Millisecond).Should(BeFalse())
}
