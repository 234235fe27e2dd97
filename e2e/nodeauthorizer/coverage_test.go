// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// TestEveryRuleIsProved needs no cluster. It fails for a rule without a spec that the rule allows,
// or without a spec that it denies.
func TestEveryRuleIsProved(t *testing.T) { framework.CheckEveryRule(t, nodeauthorizer.Rules) }
