// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = DescribeTable("a resource without a rule", decide,
	Entry("is denied to a node", Denies("NA-DEFAULT"), plainly(List(api.Deployments))),
	Entry("a resource with a rule is allowed", AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), plainly(List(api.Services))),
	Entry("is denied even with the name of the node", Denies("NA-DEFAULT"),
		nodeNamed(own, Get(api.Deployments).In("default"))),
)

// The purpose of strict mode: a forgotten binding gives a node no right. On other profiles RBAC
// decides what the Node authorizer leaves open, as upstream does.
var _ = It("a node is denied a resource without a rule, although RBAC grants it", Denies("NA-DEFAULT"),
	Label(OnHardened), func(ctx SpecContext) { decide(ctx, granted) })

var _ = It("a node gets a resource without a rule where RBAC grants it", AllowsBy("NA-DEFAULT", Behind),
	Label("unprotected"), func(ctx SpecContext) {
		switch suite.Settings.Profile {
		case Hardened:
			Skip("in profile hardened, RBAC cannot grant a node more")
		case Any:
			Skip("it is not known whether RBAC can grant a node more on this cluster")
		}
		decide(ctx, granted)
	})

// granted allows the Env's own node to list deployments in RBAC.
func granted(ctx context.Context, e *Env) Request {
	namespace := e.Namespace(ctx)
	role, binding := fixtures.RoleFor(namespace, "deployments", "system:node:"+e.Own, rbacv1.PolicyRule{
		Verbs: []string{"list"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"},
	})
	e.Put(ctx, role, binding)
	return List(api.Deployments).In(namespace)
}

var _ = Describe("the identity of a node", func() {
	services := plainly(List(api.Services))

	It("group and user name of a node: has the rights of a node", AllowsBy("NA-IDENT-1", "NA-UNI-SERVICES"),
		func(ctx SpecContext) {
			suite.ExpectClaim(ctx, suite.AsNode(suite.Env().Own), services)
		})

	It("group of nodes with another user name: denied", Denies("NA-IDENT-1"), func(ctx SpecContext) {
		suite.ExpectClaim(ctx, suite.AsUnnamedNode(), services, `unknown node for user "system:node:"`)
	})

	// Neither user is a node, so node-authorizer does not deny the request. RBAC denies it, without
	// a rule ID.
	DescribeTable("needs both group and user name:", Denies("NA-IDENT-1"),
		func(ctx SpecContext, who func() *Identity) {
			answer := must(suite.Do(ctx, who(), List(api.Services)))
			Expect(answer.Code).To(Equal(http.StatusForbidden), answer.Message)
			Expect(answer.Allowed).To(BeFalse(), answer.Reason)
			Expect(answer.Message + answer.Reason).NotTo(ContainSubstring("[NA-"))
		},
		Entry("group alone: no node", func() *Identity { return suite.AsGroupOnly() }),
		Entry("user name alone: no node", func() *Identity { return suite.AsStranger(suite.Env().Own) }),
	)
})
