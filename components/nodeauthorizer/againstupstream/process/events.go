// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
)

const (
	// eventsPerSecond is the rate that the bar is about.
	eventsPerSecond = 1000
	eventWriters    = 16
)

// busy is what a stretch of events cost.
type busy struct {
	// rate is the events per second that came about; cores is how many cores the
	// node-authorizer kept busy meanwhile, and idle the same before any event.
	rate, cores, idle float64
}

// events has pods deleted, made again on the next node, and their status written,
// in the proportion 1:1:3, and measures what it costs the node-authorizer to
// follow. In the end all pods are there.
func (p *controlPlane) events(ctx context.Context, a *authorizer, size Size, lasting time.Duration) (busy, error) {
	idle, err := a.coresDuring(ctx, func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lasting / 2):
			return nil
		}
	})
	if err != nil {
		return busy{}, err
	}
	written := p.store.written.Load()
	start := time.Now()
	b := busy{idle: idle}
	b.cores, err = a.coresDuring(ctx, func() error { return p.writeEvents(ctx, size, lasting) })
	b.rate = float64(p.store.written.Load()-written) / time.Since(start).Seconds()
	return b, err
}

// coresDuring is how many cores the node-authorizer kept busy on average.
func (a *authorizer) coresDuring(_ context.Context, do func() error) (float64, error) {
	before, err := a.CPU()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	after, err := a.CPU()
	return (after - before).Seconds() / time.Since(start).Seconds(), err
}

// writeEvents counts a deletion as the event that it is: it writes five times to
// make five events.
func (p *controlPlane) writeEvents(ctx context.Context, size Size, lasting time.Duration) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(eventWriters)
	start := time.Now()
	const five = 5 * time.Second / eventsPerSecond
	for n := 0; time.Since(start) < lasting && ctx.Err() == nil; n++ {
		time.Sleep(time.Until(start.Add(time.Duration(n) * five)))
		group.Go(func() error { return p.writeFive(ctx, size.pod(n*7%size.Pods), size) })
	}
	return group.Wait()
}

// writeFive is the end of a pod and the beginning of the one that replaces it.
func (p *controlPlane) writeFive(ctx context.Context, pod *corev1.Pod, size Size) error {
	for step, phase := range []corev1.PodPhase{corev1.PodRunning, "", corev1.PodPending, corev1.PodPending, corev1.PodRunning} {
		if phase == "" {
			p.store.written.Add(1)
			if _, err := p.etcd.Delete(ctx, keyOf("pods", pod)); err != nil {
				return fmt.Errorf("deleting a pod: %w", err)
			}
			// The pod that replaces it is another one, on another node.
			pod.UID += "-again"
			pod.Spec.NodeName = nodeName((len(pod.Name) + step + int(pod.CreationTimestamp.Unix())) % size.Nodes)
			continue
		}
		pod.Status.Phase, pod.Status.Message = phase, fmt.Sprintf("step %d", step)
		op, err := p.store.put("pods", pod)
		if err != nil {
			return err
		}
		if _, err := p.etcd.Do(ctx, op); err != nil {
			return fmt.Errorf("writing a pod: %w", err)
		}
	}
	return nil
}
