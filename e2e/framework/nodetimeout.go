// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

const (
	// usualSpec bounds every spec that sets no timeout itself. The slowest of them takes about two
	// minutes on a machine with nothing else to do.
	usualSpec = 15 * time.Minute
	// slowSpec is usualSpec for the suites whose specs wait for renewals or install hosts.
	slowSpec = 45 * time.Minute
	// SlowSpec bounds a spec that takes the machine in its It: it may wait for specs of other suites.
	SlowSpec = ginkgo.NodeTimeout(slowSpec)
)

// slowSuites are the suites with slowSpec.
var slowSuites = map[string]bool{"certificates": true, "hosts": true}

// unbounded are the specs of this process that got no timeout, because their bodies have a form that
// boundSpecs does not know.
var unbounded []string

// setups are the nodes that run before and after specs.
const setups = types.NodeTypeBeforeEach | types.NodeTypeJustBeforeEach | types.NodeTypeBeforeAll |
	types.NodeTypeAfterEach | types.NodeTypeJustAfterEach | types.NodeTypeAfterAll

// boundSpecs makes Ginkgo stop a spec that hangs. It adds a NodeTimeout to the spec, which cancels
// the context of the spec. If the body takes no context, the spec fails, and Ginkgo goes on without
// the body after the grace period. A setup with a context gets slowSpec: it may wait for the machine.
func boundSpecs(limit time.Duration) ginkgo.NodeArgsTransformer {
	return func(node types.NodeType, _ ginkgo.Offset, text string, args []any) (string, []any, []error) {
		switch {
		case node == types.NodeTypeIt:
			args = bounded(limit, text, args)
		case node.Is(setups) && slices.ContainsFunc(args, takesContext):
			args = bounded(slowSpec, text, args)
		}
		return text, args, nil
	}
}

func bounded(limit time.Duration, text string, args []any) []any {
	for i, arg := range args {
		switch body := arg.(type) {
		case ginkgo.NodeTimeout, ginkgo.SpecTimeout:
			return args
		case func():
			args[i] = func(ginkgo.SpecContext) { body() }
			return append(args, ginkgo.NodeTimeout(limit))
		}
	}
	for _, arg := range args {
		if takesContext(arg) {
			return append(args, ginkgo.NodeTimeout(limit))
		}
	}
	unbounded = append(unbounded, fmt.Sprintf("%q has a body that no timeout can stop", text))
	return args
}

// takesContext reports whether the argument is a body with a context.
func takesContext(arg any) bool {
	t := reflect.TypeOf(arg)
	specContext := reflect.TypeFor[ginkgo.SpecContext]()
	return t != nil && t.Kind() == reflect.Func && t.NumIn() == 1 && t.NumOut() == 0 && specContext.AssignableTo(t.In(0))
}
