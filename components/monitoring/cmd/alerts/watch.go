// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// firing is a time in which an alert fired.
type firing struct {
	name       string
	labels     map[string]string
	begin, end time.Time
}

// watch polls the alerts until ctx ends.
func (r *runner) watch(ctx context.Context) {
	for ctx.Err() == nil {
		active, err := r.ask(ctx)
		if err == nil {
			r.saw(active, time.Now())
		}
		sleep(ctx, pollInterval)
	}
}

// saw records the alerts of a poll.
func (r *runner) saw(active []activeAlert, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, alert := range active {
		if alert.State != stateFiring {
			continue
		}
		open := r.openFiring(alert.Labels)
		if open == nil {
			open = &firing{name: alert.Labels[labelAlert], labels: alert.Labels, begin: at}
			r.fired = append(r.fired, open)
		}
		open.end = at
	}
	r.active, r.polled = active, at
}

// openFiring returns the firing of the previous poll with these labels.
func (r *runner) openFiring(labels map[string]string) *firing {
	for _, f := range r.fired {
		if f.end.Equal(r.polled) && fmt.Sprint(f.labels) == fmt.Sprint(labels) {
			return f
		}
	}
	return nil
}

// state returns whether an alert fires, and whether it is pending or fires, at a poll after a time.
// known is false if there was no poll after it.
func (r *runner) state(c cause, after time.Time) (firing, active, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.polled.After(after) {
		return false, false, false
	}
	for _, alert := range r.active {
		if c.matches(alert.Labels) {
			active = true
			firing = firing || alert.State == stateFiring
		}
	}
	return firing, active, true
}

// firstFiring returns when an alert first fired after a time.
func (r *runner) firstFiring(c cause, after time.Time) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.fired {
		if c.matches(f.labels) && f.begin.After(after) {
			return f.begin, true
		}
	}
	return time.Time{}, false
}

// awaitQuiet waits until the alerts are inactive, and have been so for a while.
func (r *runner) awaitQuiet(ctx context.Context, rows []*row) error {
	limit, since := time.Now().Add(quietLimit), time.Now()
	for time.Since(since) < quiet {
		sleep(ctx, pollInterval)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, row := range rows {
			if _, active, known := r.state(row.cause, since); active || !known && time.Since(since) > quiet/2 {
				since = time.Now()
				if since.After(limit) {
					return fmt.Errorf("%s was active before the break", row.cause)
				}
			}
		}
	}
	return nil
}

// awaitAll waits until all rows are complete. It calls again, if it is not nil, between the polls.
func (r *runner) awaitAll(ctx context.Context, rows []*row, limit time.Duration, what string,
	complete func(*row) bool, again step) error {
	end := time.Now().Add(limit)
	for {
		var missing []string
		for _, row := range rows {
			if !complete(row) {
				missing = append(missing, row.cause.String())
			}
		}
		if len(missing) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s has not %s within %v", strings.Join(missing, ", "), what, limit)
		}
		if again != nil {
			if err := again(ctx); err != nil {
				return fmt.Errorf("cannot break: %w", err)
			}
		}
		sleep(ctx, pollInterval)
	}
}
