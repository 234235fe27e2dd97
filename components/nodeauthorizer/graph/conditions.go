// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// Condition says why a relation is weaker than upstream would have it.
type Condition uint8

// The conditions. Each belongs to one optional rule.
const (
	// Unconditional: nothing is held against the relation.
	Unconditional Condition = iota
	// Ended: only pods that have ended lead to the object (NA-POD-6).
	Ended
	// Unusable: no pod can make use of the account or of its tokens (NA-SA-3).
	Unusable
	// Unowned: the claim of a pod's ephemeral volume is not that pod's (NA-PVC-3).
	Unowned
)

var conditionNames = [...]string{Unconditional: "unconditional", Ended: "ended", Unusable: "unusable",
	Unowned: "unowned"}

// String is the condition's name in lower case.
func (c Condition) String() string {
	if int(c) >= len(conditionNames) {
		return "unknown"
	}
	return conditionNames[c]
}

// Options says what is done about each condition. The zero value answers as
// upstream does.
type Options struct {
	// Ended, Unusable and Unowned are the modes of NA-POD-6, NA-SA-3 and NA-PVC-3.
	Ended, Unusable, Unowned rules.Mode
	// CredentialProviders is true where kubelets have credential providers that use
	// ServiceAccount tokens: then every pod can make use of its account and of its
	// tokens.
	CredentialProviders bool
}
