// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodescope_test proves the rules of node scope on a cluster: with real pods on
// the worker and on the control plane, and the real tokens out of them, read from their
// nodes' disks as a thief would. One file for each family of rules.
//
// All pods are somebody's who may do everything by RBAC, so that it is no lack of rights
// for which a request is refused, and all of them make the same requests: what differs is
// the annotation of their accounts. Each refusal names its rule. What passes is left to
// RBAC, which does not say by which rule: node scope itself is asked about the same
// attributes, on its host.
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

// all are the rules of both halves: what is authorized, and what is admitted.
var all = slices.Concat(nodescope.Rules, admission.Rules)

var (
	suite *Suite
	api   = fixtures.AllResources()
)

// The stage is made with the suite that it is the stage of.
func init() { suite = NewStagedSuite("nodescope", all, Stage{Make: makeStage, Take: takeStage}) }

func TestSpecs(t *testing.T) { suite.Run(t) }

// decide is the body of most tables: somebody makes the request, and the answer has to
// be what the labels of the spec claim.
func decide(ctx SpecContext, who actor, story Story, text ...string) {
	GinkgoHelper()
	request := story(ctx, suite.Scene())
	claim := ReadClaim(CurrentSpecReport().Labels())
	Expect(claim.Rules).NotTo(BeEmpty(), "the spec names no rule")
	if claim.Want == Deny {
		suite.ExpectForbidden(ctx, who(), request, claim.By, text...)
		return
	}
	expectPassed(ctx, who(), request, claim.By)
}

// expectPassed wants the request to succeed, by RBAC, and node scope to have let it pass
// by the rule. [Behind] is for those who are not held.
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
	said := must(suite.AskScoped(ctx, who, request))
	Expect(said.Allowed || said.Denied).To(BeFalse(), "%s: %+v", request, said)
	Expect(said.Reason).To(Equal("["+string(by)+"]"), request.String())
}

// must is for what cannot go wrong unless the spec itself is wrong.
func must[T any](value T, err error) T {
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return value
}
