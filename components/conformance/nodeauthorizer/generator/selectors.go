// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"errors"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

var (
	selectedFields = []string{
		"spec.nodeName",
		"spec.nodeName",
		"spec.nodeName",
		"spec.nodeName",
		"metadata.name",
		"spec.NodeName",
		"nodeName",
		"",
	}
	operators = []selection.Operator{
		selection.Equals, selection.Equals, selection.Equals, selection.Equals, selection.DoubleEquals,
		selection.In, selection.NotIn, selection.NotEquals, selection.Exists, selection.GreaterThan, "",
	}
	selectedValues = []string{"n1", "n2", "n3", "n1", "n2", "n3", "n1,n2", "", "a"}
)

var errMalformed = errors.New("unable to parse the selector")

// selectSome adds a field selector to the request, usually with one requirement. The selector may
// be partly or completely malformed.
func selectSome(rng harness.RNG, a *authorizer.AttributesRecord) {
	count := harness.Pick(rng, []int{0, 1, 1, 1, 1, 2, 3})
	for range count {
		a.FieldSelectorRequirements = append(a.FieldSelectorRequirements, fields.Requirement{
			Field: harness.Pick(
				rng,
				selectedFields,
			),
			Operator: harness.Pick(rng, operators),
			Value:    harness.Pick(rng, selectedValues),
		})
	}
	if rng.OneIn(12) {
		a.FieldSelectorParsingErr = errMalformed
	}
}

// SimplerRequests returns requests with fewer details.
func SimplerRequests(a authorizer.AttributesRecord) []authorizer.AttributesRecord {
	var simpler []authorizer.AttributesRecord
	try := func(sets bool, change func(*authorizer.AttributesRecord)) {
		if sets {
			b := a
			change(&b)
			simpler = append(simpler, b)
		}
	}
	try(a.FieldSelectorParsingErr != nil, func(b *authorizer.AttributesRecord) { b.FieldSelectorParsingErr = nil })
	for i := range a.FieldSelectorRequirements {
		try(true, func(b *authorizer.AttributesRecord) {
			b.FieldSelectorRequirements = without(a.FieldSelectorRequirements, i)
		})
	}
	try(a.APIVersion != "", func(b *authorizer.AttributesRecord) { b.APIVersion = "" })
	try(a.Subresource != "", func(b *authorizer.AttributesRecord) { b.Subresource = "" })
	try(a.Namespace != "", func(b *authorizer.AttributesRecord) { b.Namespace = "" })
	try(a.Name != "", func(b *authorizer.AttributesRecord) { b.Name = "" })
	try(a.Verb != "get", func(b *authorizer.AttributesRecord) { b.Verb = "get" })
	return simpler
}

func without(requirements fields.Requirements, i int) fields.Requirements {
	var rest fields.Requirements
	rest = append(rest, requirements[:i]...)
	return append(rest, requirements[i+1:]...)
}
