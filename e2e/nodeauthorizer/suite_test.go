// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeauthorizer_test proves the rules of the node authorizer on a
// cluster: one file for each family of rules, under the same name as in
// components/nodeauthorizer.
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

// decide is the body of most tables: the scene's own node makes the request of
// the entry, and the answer must be what the entry's labels claim. A text is
// upstream's reason for a refusal, which must be in ours.
func decide(ctx SpecContext, story framework.Story, text ...string) {
	suite.Hold(ctx, suite.AsNode(suite.Scene().Own), story, text...)
}
