// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package noderestriction_test proves the rules of NodeRestriction on a cluster:
// one file for each family of rules. Every spec is a write that the authorizers
// allow, so that it is admission that decides.
//
// Where admission is ours alone (parity), each refusal names its rule. In hardened
// the in-tree plugin stands in front and refuses, with its own text, what both
// refuse; what goes beyond it is refused by ours, with the rule.
package noderestriction_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	"github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	suite = framework.NewSuite("noderestriction", noderestriction.Rules)
	api   = fixtures.AllResources()
)

func TestSpecs(t *testing.T) { suite.Run(t) }

// admit is the body of most tables: the scene's own node makes the write of the
// entry, and the answer must be what the entry's labels claim. A text is upstream's,
// or the part of ours that matters.
func admit(ctx SpecContext, story framework.Story, text ...string) {
	suite.HoldWrite(ctx, suite.AsNode(suite.Scene().Own), story, text...)
}

// admitCertified is admit with a client certificate of the node, which the cluster signed.
func admitCertified(ctx SpecContext, story framework.Story, text ...string) {
	suite.HoldWrite(ctx, must(suite.Certified(ctx, suite.Scene().Own)), story, text...)
}
