// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package hardening_test checks settings of docs/hardening.md by their effect. They are no rules of
// Bulkhead, but its installer must keep them: kube-apiserver takes some from a flag that Bulkhead needs
// too. Each spec is skipped on a cluster without its setting.
package hardening_test

import (
	"testing"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var suite = NewSuite("hardening", nil)

func TestSpecs(t *testing.T) { suite.Run(t) }

func TestEverySpecHasATimeout(t *testing.T) { CheckTimeouts(t) }
