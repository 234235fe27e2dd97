// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodescope_test proves the rules of node scope on a cluster. It uses real pods on the
// worker and on the control plane. It reads their real tokens from the nodes' disks, as an attacker
// would. There is one file for each group of rules.
//
// RBAC allows all pods everything, so a denial is never due to missing rights. All pods make the
// same requests: only the annotations of their accounts differ. Each denial names its rule. A
// request that passes is left to RBAC, and the API server does not say by which rule. So the suite
// also asks node scope directly about the same attributes, on its host.
package nodescope_test

import (
	"slices"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/admission"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// all are the authorization rules and the admission rules of node scope.
var all = slices.Concat(nodescope.Rules, admission.Rules)

var (
	suite *Suite
	api   = fixtures.AllResources()
)

// An init function avoids an initialization cycle: makeStage uses suite.
func init() { suite = NewStagedSuite("nodescope", all, Stage{Make: makeStage, Take: takeStage}) }

func TestSpecs(t *testing.T) { suite.Run(t) }

// decide is the body of most tables. It makes the request as who, and the answer must match the
// labels of the spec.
func decide(ctx SpecContext, who actor, makeRequest RequestFunc, text ...string) {
	GinkgoHelper()
	request := makeRequest(ctx, suite.Env())
	claim := ReadClaim(CurrentSpecReport().Labels())
	Expect(claim.Rules).NotTo(BeEmpty(), "the spec names no rule")
	if claim.Want == Deny {
		suite.ExpectForbidden(ctx, who(), request, claim.By, text...)
		return
	}
	expectPassed(ctx, who(), request, claim.By)
}

// expectPassed expects that RBAC allows the request, and that node scope gives no opinion by the
// rule. [Behind] means that the account has no scope.
func expectPassed(ctx SpecContext, who *Identity, request Request, by rules.ID) {
	GinkgoHelper()
	suite.ExpectAllowed(ctx, who, request, Behind)
	if by == Behind {
		return
	}
	if why := suite.Host.Missing(); why != "" {
		GinkgoWriter.Println("node scope itself was not asked:", why)
		return
	}
	decision := must(suite.AskScoped(ctx, who, request))
	Expect(decision.Allowed || decision.Denied).To(BeFalse(), "%s: %+v", request, decision)
	Expect(decision.Reason).To(Equal("["+string(by)+"]"), request.String())
}

// must returns the value. It fails the spec on an error that only a mistake in the spec could
// cause.
func must[T any](value T, err error) T {
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return value
}
