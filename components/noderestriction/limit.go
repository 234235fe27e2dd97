// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import "github.com/bulkhead-k8s/bulkhead/components/rules"

var limit = rules.Rule{
	ID: "NR-LIMIT",
	Description: "A node's writes beyond its share of those being decided at one time, and reviews beyond a fixed size, " +
		"are refused, without a look at what they say.",
	Source:    "ours: a flood from one node must not become another node's problem",
	Extension: true,
}

var transportRules = []rules.Rule{limit}
