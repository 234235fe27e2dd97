// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/bench"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/load"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

const (
	// bar is how much longer than the other handler ours may take.
	bar = 1.3
	// callers is how many calls are in flight at full load.
	callers = 64
)

// Contest is two handlers on the same server code: ours, and one that does less.
type Contest struct {
	// What is asked, and Other, what the other handler is: "SubjectAccessReview",
	// "constant answer".
	What, Other string
	files       Files
	addresses   [2]string
	calls       [2]func(ctx context.Context, n int) error
	stops       []func() error
}

// Handler is one of the two, with the path and the metrics that it is served with.
type Handler struct {
	http.Handler
	Path     string
	Registry metrics.KubeRegistry
}

// Serve makes the certificates in a directory and serves both handlers, ours first.
// call returns how each is called at its address for the nth time; an error of a call
// ends the measurement.
func (c *Contest) Serve(ctx context.Context, dir string, both [2]Handler, call func(address string, files Files) (func(ctx context.Context, n int) error, error)) error {
	var err error
	if c.files, err = NewFiles(dir, ClientName, "system:masters"); err != nil {
		return err
	}
	for i, served := range both {
		mux := http.NewServeMux()
		mux.Handle(served.Path, served)
		address, stop, err := startServer(ctx, c.files, mux, served.Registry)
		if err != nil {
			return errors.Join(err, c.Stop())
		}
		c.addresses[i], c.stops = address, append(c.stops, stop)
		if c.calls[i], err = call(address, c.files); err == nil {
			err = c.calls[i](ctx, 0)
		}
		if err != nil {
			return errors.Join(err, c.Stop())
		}
	}
	return nil
}

// Stop ends the servers and waits for them.
func (c *Contest) Stop() error {
	var errs []error
	for _, stop := range c.stops {
		errs = append(errs, stop())
	}
	c.stops = nil
	return errors.Join(errs...)
}

// Measure is the rows, and a profile if one of them misses its bar. lasting is how
// long each turn takes.
func (c *Contest) Measure(ctx context.Context, plan bench.Plan, lasting time.Duration) ([]report.Row, []report.Profile, error) {
	found, err := c.measure(ctx, plan, lasting)
	if err != nil {
		return nil, nil, err
	}
	rows := found.rows(c.What, c.Other)
	for _, row := range rows {
		if row.Missed() {
			profile, err := report.CPUProfile(row.What+", both ends of the connection", func() {
				// It has been called without an error for long.
				_, _, _ = load.ClosedLoop(ctx, callers, time.Second, c.calls[0])
			})
			return rows, []report.Profile{profile}, err
		}
	}
	return rows, nil, nil
}

// InDirectory does the work with a directory that is gone after it.
func InDirectory(work func(dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "bulkhead-loopback-*")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return work(dir)
}
