// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
)

// Daemon is a program that is not a webhook: it works in the background, and serves probes and metrics.
type Daemon struct {
	// Server is the configuration from the flags, as far as it is about probes and metrics.
	Server serve.Config
	// Checks all pass once the program is ready.
	Checks   []serve.Check
	Registry metrics.KubeRegistry
	// Background are the tasks. Each returns when its context is done.
	Background []func(context.Context)
}

// Run works until ctx is done and every task has ended.
func (d Daemon) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	for _, task := range d.Background {
		group.Go(func() { task(ctx) })
	}
	config := d.Server
	config.Checks = d.Checks
	// DefaultGatherer contains the metrics of libraries: Go, the process, API calls.
	config.Gatherer = prometheus.Gatherers{d.Registry, legacyregistry.DefaultGatherer}
	err := serve.RunHealth(ctx, config)
	stop()
	group.Wait()
	return err
}
