// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// quiet is how long an alert must be inactive before its break: several evaluations.
	quiet = 3 * scrapeInterval
	// quietLimit, fireLimit and resolveLimit bound the waits. The longest time to fire is that of
	// BulkheadViewStale: node-authorizer begins a watch again after 150 s, and the alert is about 120 s
	// without an event.
	quietLimit   = 4 * time.Minute
	fireLimit    = 8 * time.Minute
	resolveLimit = 5 * time.Minute
	pollInterval = time.Second
)

// row is the result of a break for one alert.
type row struct {
	breakage *breakage
	cause    cause
	// began is the time of the break, and ended that of the end of its test.
	began, ended time.Time
	// fired is the time from the break to the alert, and resolved that from the repair to its end. They
	// are zero if it did not happen.
	fired, resolved time.Duration
	// again is true if the first attempt failed.
	again bool
	err   error
}

// runner runs breaks and watches the alerts. It is safe for concurrent use.
type runner struct {
	// ask returns the alerts that are pending or firing now.
	ask   func(context.Context) ([]activeAlert, error)
	out   io.Writer
	began time.Time

	mu sync.Mutex
	// active are the alerts at the last poll, which was at polled.
	active []activeAlert
	polled time.Time
	fired  []*firing
	rows   []*row
	// broken is not nil if a part of the cluster is not repaired.
	broken error
}

func newRunner(p *prometheus, out io.Writer) *runner {
	return &runner{ask: p.alerts, out: out, began: time.Now()}
}

func (r *runner) logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "  %5s  "+format+"\n", append([]any{time.Since(r.began).Round(time.Second)}, args...)...)
}

// run runs the phases. A break that fails is tried once more at the end: on a slow machine, one may
// disturb another. run returns when the cluster is repaired.
func (r *runner) run(ctx context.Context, p phases) {
	watched, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.watch(watched)
	}()
	for _, tracks := range p {
		var group sync.WaitGroup
		for _, breaks := range tracks {
			group.Go(func() {
				for _, b := range breaks {
					if ctx.Err() == nil {
						r.breakOnce(ctx, b)
					}
				}
			})
		}
		group.Wait()
	}
	for _, b := range r.failed() {
		if ctx.Err() == nil {
			r.logf("again   %s", strings.Join(b.names(), ", "))
			r.breakOnce(ctx, b)
		}
	}
	stop()
	<-done
}

// undo calls repair or restore of a break, also after Ctrl-C, and records an error.
func (r *runner) undo(ctx context.Context, do step) error {
	if do == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), repairLimit)
	defer cancel()
	err := do(ctx)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("cannot repair: %w; run `go -C components/monitoring run ./cmd/alerts -repair`", err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = errors.Join(r.broken, err)
	return err
}

// failed returns the breaks that have failed.
func (r *runner) failed() (breaks []*breakage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.rows {
		if row.err != nil && !slices.Contains(breaks, row.breakage) {
			breaks = append(breaks, row.breakage)
		}
	}
	return breaks
}

// breakOnce breaks the cluster, waits for the alerts, repairs, and waits until they have resolved.
func (r *runner) breakOnce(ctx context.Context, b *breakage) {
	name := strings.Join(b.names(), ", ")
	rows := make([]*row, len(b.causes))
	for i, c := range b.causes {
		rows[i] = &row{breakage: b, cause: c}
	}
	err := r.cause(ctx, b, rows)
	repaired := time.Now()
	r.logf("repair  %s", name)
	err = errors.Join(err, r.undo(ctx, b.repair), r.undo(ctx, b.ready))
	if err == nil {
		err = r.awaitAll(ctx, rows, resolveLimit, "resolved", func(row *row) bool {
			if firing, _, known := r.state(row.cause, repaired); row.resolved == 0 && known && !firing {
				row.resolved = time.Since(repaired)
			}
			return row.resolved != 0
		}, nil)
	}
	err = errors.Join(err, r.undo(ctx, b.restore))
	r.record(b, rows, err)
	if err != nil {
		r.logf("FAILED  %s: %v", name, err)
		return
	}
	r.logf("done    %s", name)
}

// record stores the rows of a break. Those of a second attempt replace those of the first.
func (r *runner) record(b *breakage, rows []*row, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := false
	r.rows = slices.DeleteFunc(r.rows, func(first *row) bool {
		if first.breakage != b {
			return false
		}
		if !again && err != nil {
			err = fmt.Errorf("%w; at the second attempt: %w", first.err, err)
		}
		again = true
		return true
	})
	for _, row := range rows {
		row.err, row.ended, row.again = err, time.Now(), again
	}
	r.rows = append(r.rows, rows...)
}

// cause begins the break, and waits until the alerts fire.
func (r *runner) cause(ctx context.Context, b *breakage, rows []*row) error {
	if b.prepare != nil {
		if err := b.prepare(ctx); err != nil {
			return fmt.Errorf("cannot prepare: %w", err)
		}
	}
	if err := r.awaitQuiet(ctx, rows); err != nil {
		return err
	}
	r.logf("break   %s", strings.Join(b.names(), ", "))
	began := time.Now()
	for _, row := range rows {
		row.began = began
	}
	if b.begin != nil {
		if err := b.begin(ctx); err != nil {
			return fmt.Errorf("cannot break: %w", err)
		}
	}
	return r.awaitAll(ctx, rows, fireLimit, "fired", func(row *row) bool {
		if at, ok := r.firstFiring(row.cause, began); row.fired == 0 && ok {
			row.fired = at.Sub(began)
			r.logf("fires   %s after %s", row.cause, row.fired.Round(time.Second))
		}
		return row.fired != 0
	}, b.again)
}
