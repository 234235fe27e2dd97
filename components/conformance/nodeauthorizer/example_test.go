// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/nodeauthorizer/generator"
)

// example is a sequence of events, with the request that was then answered wrongly.
type example struct {
	name    string
	steps   []generator.Step
	request authorizer.AttributesRecord
}

// wrong returns what is wrong with the answer, or "".
func (e example) wrong() string {
	p := newPair()
	for _, step := range e.steps {
		p.apply(step)
	}
	return p.compare(&e.request, harness.Counts{})
}

// shrunk returns a shorter example that still fails.
func (e example) shrunk() example {
	return harness.Shrink(e, example.smaller, func(e example) bool { return e.wrong() != "" })
}

// smaller returns examples with fewer steps, and then examples with simpler steps.
func (e example) smaller() iter.Seq[example] {
	return func(yield func(example) bool) {
		for steps := range harness.WithoutParts(e.steps) {
			if !yield(example{e.name, steps, e.request}) {
				return
			}
		}
		for i, step := range e.steps {
			for _, simpler := range step.Simpler() {
				steps := slices.Clone(e.steps)
				steps[i] = simpler
				if !yield(example{e.name, steps, e.request}) {
					return
				}
			}
		}
		for _, request := range generator.SimplerRequests(e.request) {
			if !yield(example{e.name, e.steps, request}) {
				return
			}
		}
	}
}

// String returns the example in the form for the list of regressions, and what is wrong.
func (e example) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n{\n\tname: %q,\n", e.wrong(), e.name)
	if len(e.steps) > 0 {
		b.WriteString("\tsteps: []generator.Step{\n")
		for _, step := range e.steps {
			fmt.Fprintf(&b, "\t\t%#v,\n", step)
		}
		b.WriteString("\t},\n")
	}
	fmt.Fprintf(&b, "\trequest: %s,\n},", generator.Literal(e.request))
	return b.String()
}
