// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = Describe("the identity of a node", func() {
	It("user system:node:<name>: writes its own Node", Allows("NR-IDENT-1"), func(ctx SpecContext) {
		admit(ctx, registering())
	})

	// The authorizers deny all requests of such a user. So a request reaches admission only with an
	// RBAC grant. On hardened even a grant is not enough.
	It("user system:node: without a name: denied", Denies("NR-IDENT-1"), func(ctx SpecContext) {
		env := suite.Env()
		request := Create(api.Nodes).With(fixtures.Node(env.Own))
		env.Grant(ctx, "system:node:", createNodes)
		if suite.Settings.Profile == Hardened {
			expectRefusedByAuthorizer(ctx, suite.AsUnnamedNode(), request)
			return
		}
		suite.ExpectRefusedWrite(ctx, suite.AsUnnamedNode(), request,
			Refusal{By: "NR-IDENT-1", Text: "could not determine node from user"})
	})
})
