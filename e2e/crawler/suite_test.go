// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package crawler_test counts what a thief reaches who has the disk of the worker: with
// each credential that is on it, and with each token that clients of the cluster show its
// kubelet, everything is tried that discovery offers, on objects of the worker, of the
// other node and of nobody's, and besides the paths for no resource, the ports of both
// kubelets and the API server's proxies to them.
//
// Nothing that is tried changes anything: writes are dry runs, streams are never opened,
// and commands go to containers that do not exist.
//
// What succeeds has to be on a reviewed list (reviewed_fixture_test.go), which gives a
// reason for each entry. On in-tree nothing is held against that list: there the crawl is
// the other number to compare ours with.
package crawler_test

import (
	"testing"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	// It proves no rule: what is refused is refused by whatever rule comes first.
	suite = NewSuite("crawler", nil)
	api   = fixtures.AllResources()
)

func TestSpecs(t *testing.T) { suite.Run(t) }
