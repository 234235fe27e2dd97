// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package noderestriction_test proves the rules of NodeRestriction on a cluster. There is one file
// for each group of rules. Every spec is a write that the authorizers allow, so that admission
// decides.
//
// On parity, where only Bulkhead admits, each denial names its rule. On hardened the in-tree plugin
// runs first. It rejects with its own text what both reject. Bulkhead rejects what only its own
// rules cover, and names the rule.
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

// admit is the body of most tables. The Env's own node makes the write of the entry, and the
// answer must match the entry's labels. The text is upstream's, or a part of Bulkhead's text.
func admit(ctx SpecContext, makeRequest framework.RequestFunc, text ...string) {
	suite.ExpectWriteClaim(ctx, suite.AsNode(suite.Env().Own), makeRequest, text...)
}

// admitCertified is admit with a client certificate of the node that the cluster signed.
func admitCertified(ctx SpecContext, makeRequest framework.RequestFunc, text ...string) {
	suite.ExpectWriteClaim(ctx, must(suite.Certified(ctx, suite.Env().Own)), makeRequest, text...)
}
