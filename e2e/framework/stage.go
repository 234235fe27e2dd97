// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"

	"github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Stage holds what all specs of a suite share, where it takes too long to make it for each spec.
type Stage struct {
	// Make makes it before any spec, in one process of the suite. It returns what the other
	// processes need. DeferCleanup in Make runs after the last spec of all processes. If Make
	// skips, all specs are skipped.
	Make func(context.Context, *Env) []byte
	// Take receives the result of Make in every process.
	Take func([]byte)
}

// NewStagedSuite is [NewSuite] for a suite with a [Stage].
func NewStagedSuite(name string, all []rules.Rule, stage Stage) *Suite {
	s := &Suite{Name: name, Rules: all}
	ginkgo.SynchronizedBeforeSuite(func(ctx ginkgo.SpecContext) []byte {
		s.connect(ctx)
		return stage.Make(ctx, newEnv(s.Cluster))
	}, func(ctx ginkgo.SpecContext, made []byte) {
		if s.Cluster == nil {
			s.connect(ctx)
		}
		stage.Take(made)
	})
	s.registerHooks()
	return s
}
