// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/why"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// kubectl writes its own words around the API server's message, and the message may be of in-tree
// NodeRestriction, which names no rule.
var _ = It("bulkhead why explains what kubectl prints", Denies("NR-POD-1"), Label(OnHost, OnHardened),
	func(ctx SpecContext) {
		answer := suite.WhyKubectlFails(ctx, suite.ControlPlane, "create --validate=false --filename=-",
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"e2e-none","namespace":"default"},`+
				`"spec":{"nodeName":"`+suite.ControlPlane+`","containers":[{"name":"c","image":"none"}]}}`)
		Expect(answer.Outcome).To(Equal(why.Denied))
		Expect(answer.Rules).NotTo(BeEmpty())
		Expect(string(answer.Rules[0].ID)).To(Equal("NR-POD-1"))
	})
