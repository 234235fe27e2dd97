// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package failure_test breaks parts of a cluster with Bulkhead and checks the result:
// node-authorizer is dead or hangs, or an installation fails. Its specs are disruptive and serial.
package failure_test

import (
	"slices"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	"github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	suite = framework.NewSuite("failure", nil)
	api   = fixtures.AllResources()
)

func TestSpecs(t *testing.T) { suite.Run(t) }

func TestSpecsNameRules(t *testing.T) {
	framework.CheckNames(t, slices.Concat(nodeauthorizer.Rules, noderestriction.Rules, kubeletauth.Rules,
		nodescope.Rules))
}
