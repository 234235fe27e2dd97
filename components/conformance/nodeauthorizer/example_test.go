// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package againstupstream

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/world"
)

// example is what happened, and the question that was answered wrongly then.
type example struct {
	name    string
	steps   []world.Step
	request authorizer.AttributesRecord
}

// wrong is what is wrong with the answer, or empty.
func (e example) wrong() string {
	p := newPair()
	for _, step := range e.steps {
		p.apply(step)
	}
	return p.compare(&e.request, map[string]int{})
}

// shrunk is a shorter example of something that goes wrong.
func (e example) shrunk() example {
	for {
		smaller, found := e.smaller()
		if !found {
			return e
		}
		e = smaller
	}
}

// smaller finds an example that lacks something and still goes wrong. It tries to
// lack much first.
func (e example) smaller() (example, bool) {
	for size := len(e.steps); size > 0; size /= 2 {
		for from := len(e.steps) - size; from >= 0; from -= size {
			less := e
			less.steps = slices.Delete(slices.Clone(e.steps), from, from+size)
			if less.wrong() != "" {
				return less, true
			}
		}
	}
	for i, step := range e.steps {
		for _, simpler := range step.Simpler() {
			less := e
			less.steps = slices.Clone(e.steps)
			less.steps[i] = simpler
			if less.wrong() != "" {
				return less, true
			}
		}
	}
	for _, simpler := range world.SimplerRequests(e.request) {
		less := e
		less.request = simpler
		if less.wrong() != "" {
			return less, true
		}
	}
	return e, false
}

// String is the example as it goes into regressions, and what is wrong.
func (e example) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n{\n\tname: %q,\n", e.wrong(), e.name)
	if len(e.steps) > 0 {
		b.WriteString("\tsteps: []world.Step{\n")
		for _, step := range e.steps {
			fmt.Fprintf(&b, "\t\t%#v,\n", step)
		}
		b.WriteString("\t},\n")
	}
	fmt.Fprintf(&b, "\trequest: %s,\n},", world.Literal(e.request))
	return b.String()
}
