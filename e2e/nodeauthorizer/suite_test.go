// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeauthorizer_test proves the rules of node-authorizer on a cluster. There is one file
// for each group of rules, with the same name as in components/nodeauthorizer.
package nodeauthorizer_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	"github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	suite = framework.NewSuite("nodeauthorizer", nodeauthorizer.Rules)
	api   = fixtures.AllResources()
)

func TestSpecs(t *testing.T) { suite.Run(t) }

// decide is the body of most tables. The Env's own node makes the request of the entry, and the
// answer must match the entry's labels. The text is upstream's reason for a denial, which
// Bulkhead's reason must contain.
func decide(ctx SpecContext, makeRequest framework.RequestFunc, text ...string) {
	suite.ExpectClaim(ctx, suite.AsNode(suite.Env().Own), makeRequest, text...)
}
