// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// expectsDenial reports whether the labels of the spec claim a denial by a rule that is in force.
func expectsDenial() bool {
	claim := ReadClaim(CurrentSpecReport().Labels())
	return claim.Want != Allow && (claim.Off == "" || suite.InForce(claim.By))
}

// awaitView repeats a dry run of the Env's own node until the answer shows that node-restriction's
// watch has the Nodes of the request, for at most [Soon]. It is only for rules that read this watch
// without a live lookup. The spec then checks the answer to the same request.
func awaitView(ctx context.Context, e *Env, request Request, current func(code int, text string) bool) {
	GinkgoHelper()
	Eventually(ctx, func() (bool, error) {
		code, text, err := suite.AsNode(e.Own).Send(ctx, request)
		return current(code, text), err
	}).WithTimeout(Soon).WithPolling(100*time.Millisecond).Should(BeTrue(), "node-restriction has seen the Nodes")
}
