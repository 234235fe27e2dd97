// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
)

// start sets up logging, which a process can do only once, and calls run.
func start(ctx context.Context, c *config) error {
	if err := program.StartLogging(c.logging); err != nil {
		return err
	}
	return run(ctx, c)
}

// run renews certificates until ctx is done.
func run(ctx context.Context, c *config) error {
	return c.layout.Rotator(c.policy, time.Now).Watch(ctx)
}
