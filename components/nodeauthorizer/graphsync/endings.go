// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// endings calls end for each pod that has ended, after its grace period.
//
// Every pod has the same grace period, so the pod that was seen first is due first and a queue is
// enough. A heap and its goroutines would only cost more memory for each of a hundred thousand pods
// (client-go's delaying queue has three goroutines). A pod that is deleted in the meantime stays in
// the queue until it is due. The graph then does not know its UID, and nothing happens.
type endings struct {
	clock clock.Clock
	// grace is how long an ended pod keeps its relations. If it is negative, they never expire.
	grace time.Duration
	end   func(namespace, name string, uid types.UID)
	// first receives a value when a pod is added to an empty queue.
	first chan struct{}

	mu    sync.Mutex
	queue []ending
	// queued has the UIDs in the queue. So updates of an ended pod add no second entry and do not
	// extend its grace period.
	queued map[types.UID]struct{}
}

// ending is a pod that has ended, and when it is due.
type ending struct {
	identity
	uid types.UID
	due time.Time
}

func newEndings(clock clock.Clock, grace time.Duration, end func(namespace, name string, uid types.UID)) *endings {
	return &endings{clock: clock, grace: grace, end: end, first: make(chan struct{}, 1), queued: map[types.UID]struct{}{}}
}

// note checks a pod that has just been set in the graph, and queues it if it has ended. A pod that
// was already handled is queued again. Ending it twice changes nothing.
func (e *endings) note(pod *corev1.Pod) {
	switch {
	case e.grace < 0 || !graph.HasEnded(pod):
	case e.grace == 0:
		e.end(pod.Namespace, pod.Name, pod.UID)
	default:
		e.add(pod)
	}
}

func (e *endings) add(pod *corev1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.queued[pod.UID]; known {
		return
	}
	e.queued[pod.UID] = struct{}{}
	e.queue = append(e.queue, ending{identity{pod.Namespace, pod.Name}, pod.UID, e.clock.Now().Add(e.grace)})
	if len(e.queue) > 1 {
		return
	}
	select {
	case e.first <- struct{}{}:
	default:
	}
}

// run ends pods when they are due, until the context ends.
func (e *endings) run(ctx context.Context) {
	for ctx.Err() == nil {
		next, wait := e.next()
		switch {
		case next != nil:
			e.end(next.namespace, next.name, next.uid)
		case wait > 0:
			e.sleep(ctx, wait)
		default:
			select {
			case <-ctx.Done():
			case <-e.first:
			}
		}
	}
}

func (e *endings) sleep(ctx context.Context, wait time.Duration) {
	timer := e.clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// next removes a pod that is due from the queue. If no pod is due, it returns the time until the
// first one is due, or 0 if the queue is empty.
func (e *endings) next() (*ending, time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		return nil, 0
	}
	first := e.queue[0]
	if wait := first.due.Sub(e.clock.Now()); wait > 0 {
		return nil, wait
	}
	e.queue[0] = ending{}
	e.queue = e.queue[1:]
	delete(e.queued, first.uid)
	return &first, 0
}
