// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package failure_test breaks what a cluster with Bulkhead stands on, and looks
// at what becomes of it: the node authorizer dead or hanging, and installations
// that go wrong. Its specs are disruptive and run alone.
package failure_test

import (
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	"github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	suite = framework.NewSuite("failure", nil)
	api   = fixtures.AllResources()
)

func TestSpecs(t *testing.T) { suite.Run(t) }

func TestSpecsNameRules(t *testing.T) { framework.CheckNames(t, nodeauthorizer.Rules) }
