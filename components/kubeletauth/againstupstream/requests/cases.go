// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"context"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/standin"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/load"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// many is how many callers there are where there is more than one.
const many = 16

// body is one of the kubelet's answers.
type body struct {
	name, path string
	size       int64
}

var bodies = [2]body{{"2 KB", standin.Small, standin.SmallBytes}, {"40 KB", standin.Large, standin.LargeBytes}}

// found is what was measured of one body, by one kind of caller, so many at a time:
// on each side, run by run. Times are in microseconds.
type found struct {
	body    body
	caller  sides.Caller
	callers int

	p50, p99, perSecond [sides.Number]report.Sample
	// onCores is what one request costs the proxy's process.
	onCores [sides.Number]report.Sample
}

// pieces is how many parts a turn has. The sides change after each, so that what else
// the machine does is not one side's.
const pieces = 24

// measure gives each side its turns.
func (f *found) measure(ctx context.Context, all [sides.Number]*sides.Side, plan sides.Plan) error {
	calls, err := f.calls(ctx, all)
	if err != nil {
		return err
	}
	for range f.runs(plan.Runs) {
		var latencies [sides.Number]report.Sample
		var rates [sides.Number]report.Sample
		var used [sides.Number]time.Duration
		for i := range pieces * sides.Number {
			// Who comes first changes too.
			side := (i + i/sides.Number) % sides.Number
			cost, err := all[side].OnCores(func() error {
				sample, rate, err := load.ClosedLoop(ctx, f.callers, plan.Turn/pieces, calls[side])
				latencies[side], rates[side] = append(latencies[side], sample...), append(rates[side], rate)
				return err
			})
			if err != nil {
				return err
			}
			used[side] += cost
		}
		for side := range sides.Number {
			f.p50[side] = append(f.p50[side], latencies[side].Percentile(50))
			f.p99[side] = append(f.p99[side], latencies[side].Percentile(99))
			f.perSecond[side] = append(f.perSecond[side], rates[side].Median())
			f.onCores[side] = append(f.onCores[side], float64(used[side].Microseconds())/float64(len(latencies[side])))
		}
	}
	return nil
}

// runs are twice as many one at a time: there is less to measure in each, and the machine's
// noise is the same.
func (f *found) runs(of int) int {
	if f.callers == 1 {
		return 2 * of
	}
	return of
}

// calls has every side called once already: what is held is held then, and connections
// are there.
func (f *found) calls(ctx context.Context, all [sides.Number]*sides.Side) (calls [sides.Number]func(context.Context, int) error, err error) {
	for i, side := range all {
		if calls[i], err = side.Get(f.caller, f.body.path, f.body.size); err != nil {
			return calls, err
		}
		if _, _, err = load.ClosedLoop(ctx, f.callers, warmUp, calls[i]); err != nil {
			return calls, err
		}
	}
	return calls, nil
}

const warmUp = 50 * time.Millisecond
