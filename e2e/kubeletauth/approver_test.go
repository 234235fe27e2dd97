// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = DescribeTable("a kubelet serves with a certificate of the cluster's CA for its Node's names and no others,",
	Label(OnHardened),
	func(ctx SpecContext, node func() string) {
		Expect(namesIn(must(served(ctx, node())))).To(ConsistOf(namesOf(ctx, node())))
	},
	Entry("on the worker", Label(OnWorker), Allows("KA-CSR-1"), func() string { return suite.Worker }),
	Entry("on the control plane", Allows("KA-CSR-1"), func() string { return suite.ControlPlane }),
)

// NR-CSR-2 rejects every other request of a node at admission. disruptive_approver_test.go covers
// how the approver handles such requests without that rule.
var _ = Describe("a request for a serving certificate", Label(OnHardened), func() {
	BeforeEach(func(ctx SpecContext) { addressed(ctx) })

	It("is approved and signed for the node's name and address", Allows("KA-CSR-1"), func(ctx SpecContext) {
		name, _ := request(ctx, suite.AsNode(suite.Env().Own), asKubeletsAsk())
		certificate := must(certificateOf(issued(ctx, name)))
		Expect(approval(ctx, name)).To(Equal(byBulkhead))
		Expect(namesIn(certificate)).To(ConsistOf(suite.Env().Own, suite.Env().Address()))
	})

	It("is not approved if another user creates it", Denies("KA-CSR-1"), func(ctx SpecContext) {
		expectLeft(ctx, suite.AsAdmin(), asKubeletsAsk())
	})

	It("is not approved if a user with a node's name, but without the group of nodes, creates it", Denies("KA-CSR-1"),
		func(ctx SpecContext) {
			suite.Env().Bind(ctx, "system:node:"+suite.Env().Own, "cluster-admin")
			expectLeft(ctx, suite.AsStranger(suite.Env().Own), asKubeletsAsk())
		})
})
