// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package crawler_test counts what an attacker reaches who has the disk of the worker. It uses each
// credential on that disk, and each token that clients of the cluster send to the worker's kubelet.
// With each, it tries everything that discovery lists, on objects of the worker, of the other node
// and of no node. It also tries non-resource paths, the ports of both kubelets, and the API
// server's proxies to them.
//
// No attempt changes anything. Writes are dry runs, streams are never opened, and commands go to
// containers that do not exist.
//
// Each success must be on a reviewed list (reviewed_fixture_test.go), which gives a reason for each
// entry. On in-tree, results are not compared with that list. The in-tree count is the baseline for
// the other profiles.
package crawler_test

import (
	"testing"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	// The suite proves no rule: any rule may deny an attempt.
	suite = NewSuite("crawler", nil)
	api   = fixtures.AllResources()
)

func TestSpecs(t *testing.T) { suite.Run(t) }

func TestEverySpecHasATimeout(t *testing.T) { CheckTimeouts(t) }
