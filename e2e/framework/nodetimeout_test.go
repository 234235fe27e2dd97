// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

func TestEverySpecHasATimeout(t *testing.T) {
	const limit, own = time.Minute, ginkgo.NodeTimeout(time.Hour)
	called := false
	for _, row := range []struct {
		name string
		node types.NodeType
		args []any
		want []any
		// adapted is true if the body gets a context that it ignores.
		adapted bool
	}{
		{"body with a SpecContext", types.NodeTypeIt, []any{func(ginkgo.SpecContext) {}},
			[]any{ginkgo.NodeTimeout(limit)}, false},
		{"body with a context", types.NodeTypeIt, []any{func(context.Context) {}}, []any{ginkgo.NodeTimeout(limit)}, false},
		{"body without a context", types.NodeTypeIt, []any{func() { called = true }},
			[]any{ginkgo.NodeTimeout(limit)}, true},
		{"timeout of its own", types.NodeTypeIt, []any{own, func(ginkgo.SpecContext) {}}, []any{own}, false},
		{"setup", types.NodeTypeBeforeAll, []any{func(ginkgo.SpecContext) {}}, []any{ginkgo.NodeTimeout(slowSpec)}, false},
		{"setup with a timeout of its own", types.NodeTypeAfterEach, []any{own, func(ginkgo.SpecContext) {}}, []any{own},
			false},
		{"setup without a context", types.NodeTypeBeforeEach, []any{func() {}}, nil, false},
		{"container", types.NodeTypeContainer, []any{func() {}}, nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, args, errs := boundSpecs(limit)(row.node, 0, "spec", row.args)
			timeouts := slices.DeleteFunc(slices.Clone(args), func(arg any) bool {
				_, is := arg.(ginkgo.NodeTimeout)
				return !is
			})
			if !slices.Equal(timeouts, row.want) || len(errs) > 0 {
				t.Errorf("timeouts %v, want %v, errors %v", timeouts, row.want, errs)
			}
			if body, is := args[0].(func(ginkgo.SpecContext)); row.adapted && is {
				body(nil)
			}
		})
	}
	if !called {
		t.Error("the body without a context is not called")
	}
	if len(unbounded) > 0 {
		t.Errorf("not bounded: %v", unbounded)
	}
}

func TestSpecWithoutABodyIsReported(t *testing.T) {
	t.Cleanup(func() { unbounded = nil })
	if args := bounded(time.Minute, "spec", []any{"no body"}); len(args) != 1 || len(unbounded) != 1 {
		t.Errorf("arguments %v, reported %v", args, unbounded)
	}
}
