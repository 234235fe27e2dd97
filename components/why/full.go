// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"reflect"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// FullRule is all that bulkhead knows about a rule.
type FullRule struct {
	Rule      `json:",inline"`
	Component string `json:"component"`
	// Extension is true for a rule that Kubernetes does not have. Optional is true for one that has a
	// mode. Configured is true for one that only the operator's configuration enables.
	Extension  bool `json:"extension"`
	Optional   bool `json:"optional"`
	Configured bool `json:"configured"`
	// Exception is how to allow more.
	Exception []Option `json:"exception,omitempty"`
	// Specs are the end-to-end specs of the rule.
	Specs []rulebook.Spec `json:"specs,omitempty"`
}

// Full describes a rule. here may be nil.
func Full(r rules.Rule, here *rulebook.Here) FullRule {
	described, _ := describe(r.ID)
	if here != nil {
		described.Here = here.Mode(r)
	}
	exception := Options(r.ID, rulebook.Exception(r.ID))
	if slices.Contains(relationRules(), r.ID) {
		exception = slices.Insert(exception, 0, Option{Text: anyRelation})
	}
	prefix, _, _ := strings.Cut(string(r.ID), "-")
	full := FullRule{Rule: described, Component: rulebook.Components[prefix], Extension: r.Extension, Optional: r.Optional,
		Configured: r.Configured, Exception: exception, Specs: rulebook.Specs(r.ID)}
	makePrintable(reflect.ValueOf(&full))
	return full
}
