// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
)

// durationShown is the shortest duration of a step that is printed.
const durationShown = 3 * time.Second

// Step is one part of a change. Apply reports whether it changed anything. A second Apply changes
// nothing. Wait returns when the change is in force. It may be nil.
type Step struct {
	Name  string
	Apply func(context.Context) (changed bool, err error)
	Wait  func(context.Context) error
}

// Wait returns a step that changes nothing and only waits.
func Wait(name string, wait func(context.Context) error) Step { return Step{Name: name, Wait: wait} }

// Run applies the step, waits, and prints the result.
func (e *Engine) Run(ctx context.Context, s Step) (changed bool, err error) {
	begin := e.Now()
	if s.Apply != nil {
		changed, err = s.Apply(ctx)
	}
	if err == nil && s.Wait != nil {
		err = s.Wait(ctx)
	}
	took := ""
	if elapsed := e.Now().Sub(begin); elapsed > durationShown {
		took = fmt.Sprintf(" (%s)", elapsed.Round(100*time.Millisecond))
	}
	result := "unchanged"
	switch {
	case err != nil:
		result = "failed"
	case changed:
		result = "done"
	}
	e.Logf("  %-10s %s%s", result, s.Name, took)
	return changed, err
}

// RunAll runs steps that need no journal, because each of them can be repeated. It stops at the
// first error, and does not undo the steps before it. If ctx is cancelled, it starts no other step.
func (e *Engine) RunAll(ctx context.Context, steps []Step) (changed bool, err error) {
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return changed, fmt.Errorf("interrupted before the step %q: %w", s.Name, err)
		}
		c, err := e.Run(ctx, s)
		if err != nil {
			return changed, fmt.Errorf("%s: %w", s.Name, err)
		}
		changed = changed || c
	}
	return changed, nil
}

// Transaction applies all of its steps or none.
type Transaction struct {
	*Engine
	// Dir is the directory of the journal.
	Dir string
	// Revert undoes every entry of the journal and ends the journal. It can be repeated.
	Revert func(context.Context, *journal.Journal) error
	// Advice tells the user what to do if Revert fails, or if the journal cannot be read. It must help
	// without the journal.
	Advice string
}

// Begin starts the journal of an operation.
func (t Transaction) Begin(operation string) (*journal.Journal, error) {
	j, err := journal.Begin(t.Dir, operation)
	if err != nil {
		// The directory of the journal may be new.
		return nil, t.rollback(fmt.Errorf("cannot start the journal in %s: %w", t.Dir, err), j)
	}
	return j, nil
}

// Apply runs the steps. If one fails, or ctx is cancelled, it reverts all of them.
func (t Transaction) Apply(ctx context.Context, j *journal.Journal, steps []Step) (changed bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, t.rollback(fmt.Errorf("interrupted before the first step: %w", err), j)
	}
	for _, s := range steps {
		c, err := t.Run(ctx, s)
		if err == nil {
			err = ctx.Err() // a step that sends no request and does not wait does not see it
		}
		if err != nil {
			return false, t.rollback(fmt.Errorf("%s: %w", s.Name, err), j)
		}
		changed = changed || c
	}
	return changed, j.End()
}

func (t Transaction) rollback(cause error, j *journal.Journal) error {
	t.Logf("Rolling back")
	// The context of the caller may be cancelled, so the rollback does not use it. Every wait of a
	// rollback has its own timeout.
	if err := t.Revert(context.Background(), j); err != nil {
		return fmt.Errorf("%w\nrollback incomplete: %w\n%s", cause, err, t.Advice)
	}
	return fmt.Errorf("%w\nrolled back: nothing has been changed", cause)
}

// Recover reverts the transaction of a run that was killed. It does nothing if there is none.
func (t Transaction) Recover(ctx context.Context) error {
	j, err := journal.Open(t.Dir)
	if err != nil {
		return fmt.Errorf("%w. Move the directory %s away, then %s", err, t.Dir, t.Advice)
	}
	if j == nil {
		return nil
	}
	t.Logf("An earlier run (%s) was interrupted: rolling it back", j.Operation)
	return t.Revert(ctx, j)
}

// RestoreAll reverts the entries in reverse order. Each entry is one step. If one entry cannot be
// reverted, RestoreAll continues with the others.
func (e *Engine) RestoreAll(ctx context.Context, entries []journal.Entry,
	restore func(context.Context, journal.Entry) error) error {
	var errs []error
	for _, entry := range slices.Backward(entries) {
		_, err := e.Run(ctx, Step{Name: "revert " + entry.Name,
			Apply: func(ctx context.Context) (bool, error) { return true, restore(ctx, entry) }})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
