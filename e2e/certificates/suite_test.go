// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package certificates_test runs through two renewals of every certificate that bulkhead makes. It
// takes about ten minutes. Each renewal breaks open connections to the API server, so no other suite may
// use the cluster meanwhile.
package certificates_test

import (
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	"github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	suite = framework.NewSuite("certificates", nil)
	api   = fixtures.AllResources()
)

func TestSpecs(t *testing.T) { suite.Run(t) }

func TestSpecsNameRules(t *testing.T) { framework.CheckNames(t, nodeauthorizer.Rules) }
