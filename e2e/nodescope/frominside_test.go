// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Each request of this file leaves from inside a pod on the worker, with the token of that pod. RBAC
// allows the account everything, and its scope names only nodes. custom_test.go has the requests for
// declared custom resources, and e2e/attacks those for the other families of rules.
var _ = DescribeTable("from inside a pod:", decide,
	Entry("get of its own Node: allowed", AllowsBy("NS-IDENT-2", "NS-NODE-1"), Allows("NS-IDENT-3"),
		Allows("NS-IDENT-4"), fromInside(small), theNode(own, Get(api.Nodes))),
	Entry("get of another Node: denied", Denies("NS-NODE-1"), fromInside(small), theNode(other, Get(api.Nodes)),
		"[NA-NODE-1]"),
	Entry("list of deployments, which the scope does not name: allowed", Allows("NS-PASS-1"), fromInside(small),
		plainly(List(api.Deployments))),
	Entry("list of Nodes, which the scope names: denied", DeniesBy("NS-PASS-1", "NS-NODE-1"), fromInside(small),
		plainly(List(api.Nodes)), "[NA-NODE-1]"),
	Entry("get of a cluster role: allowed", AllowsBy("NS-GRANT-1", "NS-PASS-1"), fromInside(small),
		plainly(Get(clusterRoles).Named("view"))),
	Entry("patch of a cluster role: denied", Denies("NS-GRANT-1"), fromInside(small),
		plainly(Patch(clusterRoles).Named("view").With(fields{}))),
)

var _ = DescribeTable("from inside a pod: a write at admission:", admit,
	Entry("another annotation of its account: admitted", Allows("NS-WRITE-1"), fromInside(small),
		named(small, Patch(api.ServiceAccounts).With(marked(unmarked, "pods")))),
	Entry("the scope of its account: denied", Denies("NS-WRITE-1"), fromInside(small),
		named(small, Patch(api.ServiceAccounts).With(marked(nodescope.ScopeAnnotation, "pods")))),
	Entry("another annotation of its pod: admitted", Allows("NS-WRITE-2"), fromInside(small),
		named(small+inside, Patch(api.Pods).With(marked(unmarked, "pods")))),
	Entry("a scope of its pod: denied", Denies("NS-WRITE-2"), fromInside(small),
		named(small+inside, Patch(api.Pods).With(marked(nodescope.ScopeAnnotation, "pods")))),
)

// The token of a pod names that pod. An account also has tokens that name no pod, for example from
// `kubectl create token`. Only the token differs from the allowed request above.
var _ = It("from inside a pod: get of its own Node with a token that names no pod: denied", Denies("NS-IDENT-2"),
	Attack("T16"), func(ctx SpecContext) {
		who := usedInside(small, must(suite.ReadToken(ctx, requested(small, nil)(ctx))))
		decide(ctx, func() *Identity { return who }, theNode(own, Get(api.Nodes)), "names no pod")
	})

// Both tokens are of one pod. The revocation list has the one that the kubelet put into the pod.
var _ = Describe("from inside a pod: a list of deployments", Ordered, ContinueOnFailure, func() {
	var revoked, good *Identity

	BeforeAll(func(ctx SpecContext) {
		revoked = fromInside(shortLived)()
		good = usedInside(shortLived, must(suite.ReadToken(ctx, requested(shortLived, insidePod(shortLived))(ctx))))
		// Without the list the request passes, so the later denial is from the list.
		expectPassed(ctx, revoked, List(api.Deployments), "NS-PASS-1")
		since := time.Now()
		suite.Env().Revoke(ctx, revoked.CredentialID())
		// The wait for the list does not need the pod.
		suite.BecomesRefused(ctx, podOf(shortLived+inside)(), List(api.Deployments), "NS-REVOKE-1", since)
	})

	It("with the pod's revoked token: denied", Denies("NS-REVOKE-1"), func(ctx SpecContext) {
		suite.ExpectForbidden(ctx, revoked, List(api.Deployments), "NS-REVOKE-1",
			"credential "+revoked.CredentialID()+" is revoked")
	})

	It("with another token of the pod: allowed", AllowsBy("NS-REVOKE-1", "NS-PASS-1"), func(ctx SpecContext) {
		expectPassed(ctx, good, List(api.Deployments), "NS-PASS-1")
	})
})
