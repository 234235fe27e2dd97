// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/loopback"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// Large is the cluster that the bars are about.
var Large = Size{Nodes: 5000, Pods: 100_000, Namespaces: 200}

// Plan says how long to measure.
type Plan struct {
	// Root is the checkout.
	Root string
	Size Size
	// Runs is how often the process is started.
	Runs int
	// Rest is the time between being ready and being at rest, Events how long events
	// come.
	Rest, Events time.Duration
	// Refusals is how many reviews are refused, and as many allowed, in each run.
	Refusals int
	Say      func(format string, args ...any)
}

// run is what one start of the process found.
type run struct {
	ready      time.Duration
	peak, rest float64
	busy       busy
	answers    answers
	memory     string
}

// Whole measures the process. The error includes the end of the log of whatever
// did not start.
func Whole(ctx context.Context, plan Plan) (section report.Section, err error) {
	dir, err := os.MkdirTemp("", "bulkhead-process-*")
	if err != nil {
		return section, fmt.Errorf("making a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plan.Say("whole process: fetching kube-apiserver and etcd")
	if err := programs(ctx, plan.Root, dir, plan.Say); err != nil {
		return section, err
	}
	p := &controlPlane{dir: dir}
	defer p.stop()
	if err := p.start(ctx, plan); err != nil {
		return section, err
	}
	var runs []run
	for i := range plan.Runs {
		plan.Say("whole process: run %d of %d", i+1, plan.Runs)
		r, err := p.once(ctx, plan)
		if err != nil {
			return section, err
		}
		plan.Say("whole process: ready after %v, %.0f MB at most, %.0f MB at rest, %.2f cores at %.0f events/s",
			r.ready.Round(time.Millisecond), r.peak, r.rest, r.busy.cores, r.busy.rate)
		runs = append(runs, r)
	}
	section = sectionOf(plan, runs, p.store.written.Load(), p.store.bytes.Load())
	restrictions, err := p.restrictions(ctx, plan)
	if err != nil {
		return section, err
	}
	section.Rows = append(section.Rows, restrictions...)
	for _, row := range section.Rows[:2] {
		if row.Missed() {
			plan.Say("whole process: %s is beyond the bar: profiling", row.What)
			profile, err := p.profileListing(ctx)
			section.Profiles = append(section.Profiles, profile)
			return section, err
		}
	}
	return section, nil
}

// start starts the control plane with all objects in it.
func (p *controlPlane) start(ctx context.Context, plan Plan) error {
	var err error
	if p.files, err = loopback.NewFiles(p.dir, loopback.ClientName, "system:masters"); err != nil {
		return err
	}
	if err := p.startEtcd(ctx); err != nil {
		return err
	}
	plan.Say("whole process: writing %d pods on %d nodes to etcd", plan.Size.Pods, plan.Size.Nodes)
	if err := p.store.fillCluster(ctx, plan.Size); err != nil {
		return err
	}
	written := p.store.written.Load()
	plan.Say("whole process: %d objects of %d bytes on average; starting kube-apiserver", written, p.store.bytes.Load()/written)
	return p.startAPIServer(ctx)
}

// once starts the process, looks at it, and ends it.
func (p *controlPlane) once(ctx context.Context, plan Plan) (r run, err error) {
	a, ready, err := p.startAuthorizer(ctx)
	if err != nil {
		return r, err
	}
	defer a.Stop()
	r.ready = ready
	if err := a.mustKnow(ctx, plan.Size.Pods); err != nil {
		return r, err
	}
	select {
	case <-ctx.Done():
		return r, ctx.Err()
	case <-time.After(plan.Rest):
	}
	m, err := a.Memory()
	if err != nil {
		return r, err
	}
	r.peak, r.rest = m.Peak, m.Now
	if r.memory, err = a.explainMemory(ctx); err != nil {
		return r, err
	}
	if r.answers, err = p.ask(ctx, a, plan.Size, plan.Refusals); err != nil {
		return r, err
	}
	if r.busy, err = p.events(ctx, a, plan.Size, plan.Events); err != nil {
		return r, err
	}
	return r, a.WaitUntil(ctx, time.Minute, func() bool { return a.mustKnow(ctx, plan.Size.Pods) == nil })
}
