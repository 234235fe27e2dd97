// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// TestEveryRuleIsProved needs no cluster. A rule that is added without a spec
// that it allows and one that it refuses fails here.
func TestEveryRuleIsProved(t *testing.T) { framework.CheckEveryRule(t, nodeauthorizer.Rules) }
