// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// TestEveryRuleIsProved needs no cluster. A rule that is added without a spec
// that it allows and one that it refuses fails here.
func TestEveryRuleIsProved(t *testing.T) { framework.CheckEveryRule(t, noderestriction.Rules) }
