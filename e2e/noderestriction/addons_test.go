// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	. "github.com/onsi/ginkgo/v2"
	rbacv1 "k8s.io/api/rbac/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var writeNodeStatus = rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{""},
	Resources: []string{"nodes/status"}}

// The rules limit nodes, not the accounts of add-ons (docs/compatibility.md). A node is denied the
// same requests: see "a node and a pool of devices" and "a node that writes fields that others set".
var _ = DescribeTable("an add-on with a ServiceAccount of its own",
	func(ctx SpecContext, right rbacv1.PolicyRule, makeRequest RequestFunc) {
		env := suite.Env()
		request := makeRequest(ctx, env)
		account := env.AccountToken(ctx)
		env.Grant(ctx, account.User, right)
		suite.ExpectWritten(ctx, suite.AsBearer(account), request)
	},
	Entry("a DRA driver writes a slice into the pool of another node", Allows("NR-SLICE-4"),
		rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{"resource.k8s.io"},
			Resources: []string{"resourceslices"}}, pooled(own, other)),
	Entry("kured uncordons a node", Allows("NR-CORDON-1"),
		rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{""}, Resources: []string{"nodes"}},
		registered(own, Patch(api.Nodes).With(spec("unschedulable", false)))),
	Entry("a cloud controller changes the address of a node", Allows("NR-ADDRESS-3"), writeNodeStatus,
		at(func(*Env) string { return "192.0.2.53" })),
	Entry("Node Problem Detector reports a condition of a node", Allows("NR-ADDRESS-3"), writeNodeStatus,
		registered(own, Patch(api.Nodes).Sub("status").With(status("conditions", []any{
			fields{"type": "KernelDeadlock", "status": "False", "reason": "KernelHasNoDeadlock"}})))),
)
