// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installtest

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
)

var errBroken = errors.New("broken on purpose")

// duringWait is shorter than the time between two checks of any wait in the tests.
const duringWait = 100 * time.Millisecond

// End is a way in which one step ends a run before its time. Ctrl-C cancels the context of a run.
type End struct {
	Name string
	// Cause is in the error of the run.
	Cause error
	apply func(ctx context.Context, cancel context.CancelFunc, step engine.Step) (bool, error)
}

// Ends are all ways, except the death of the process.
var Ends = []End{
	{"fails", errBroken, func(ctx context.Context, _ context.CancelFunc, step engine.Step) (bool, error) {
		changed, err := runStep(ctx, step)
		return changed, errors.Join(errBroken, err)
	}},
	{"is cancelled before its first request", context.Canceled,
		func(ctx context.Context, cancel context.CancelFunc, step engine.Step) (bool, error) {
			cancel()
			return runStep(ctx, step)
		}},
	{"is cancelled while it waits or at its end", context.Canceled,
		func(ctx context.Context, cancel context.CancelFunc, step engine.Step) (bool, error) {
			defer cancel()
			defer time.AfterFunc(duringWait, cancel).Stop()
			return runStep(ctx, step)
		}},
}

// Step returns a step that ends the run in this way. cancel cancels the context of the run.
func (e End) Step(step engine.Step, cancel context.CancelFunc) engine.Step {
	return engine.Step{Name: step.Name, Apply: func(ctx context.Context) (bool, error) {
		return e.apply(ctx, cancel, step)
	}}
}

func runStep(ctx context.Context, step engine.Step) (changed bool, err error) {
	if step.Apply != nil {
		changed, err = step.Apply(ctx)
	}
	if err == nil && step.Wait != nil {
		err = step.Wait(ctx)
	}
	return changed, err
}
