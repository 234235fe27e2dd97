// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package hardening_test checks settings of docs/hardening.md that Bulkhead's installer could undo,
// because kube-apiserver takes them from a flag that Bulkhead needs too. They are no rules of Bulkhead.
// Each spec is skipped on a cluster without its setting.
package hardening_test

import (
	"testing"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var suite = NewSuite("hardening", nil)

func TestSpecs(t *testing.T) { suite.Run(t) }

func TestEverySpecHasATimeout(t *testing.T) { CheckTimeouts(t) }
