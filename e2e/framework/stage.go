// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"

	"github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Stage is what all specs of a suite play on, where it takes too long to make it for
// each of them.
type Stage struct {
	// Make makes it, in one process of the suite, before any spec. It returns what the
	// other processes have to know. What it leaves to DeferCleanup happens after the last
	// spec of all processes. If it skips, all specs are skipped.
	Make func(context.Context, *Scene) []byte
	// Take is told what Make has returned, in every process.
	Take func([]byte)
}

// NewStagedSuite is [NewSuite] for a suite with a [Stage].
func NewStagedSuite(name string, all []rules.Rule, stage Stage) *Suite {
	s := &Suite{Name: name, Rules: all}
	ginkgo.SynchronizedBeforeSuite(func(ctx ginkgo.SpecContext) []byte {
		s.connect(ctx)
		return stage.Make(ctx, newScene(s.Cluster))
	}, func(ctx ginkgo.SpecContext, made []byte) {
		if s.Cluster == nil {
			s.connect(ctx)
		}
		stage.Take(made)
	})
	s.surround()
	return s
}
