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

// endings tells the graph of pods that have ended, once their grace is over.
//
// Every pod has the same grace, so the one that was seen first is due first, and a
// queue is enough: a heap and its goroutines (client-go's delaying queue has
// three) would only cost more for each of a hundred thousand pods. Pods that are
// deleted meanwhile stay in it until they are due; the graph does not know their
// UIDs then, and nothing happens.
type endings struct {
	clock clock.Clock
	// grace is how long an ended pod keeps what it had; for ever if negative.
	grace time.Duration
	end   func(namespace, name string, uid types.UID)
	// first has an element when the queue may be empty no more.
	first chan struct{}

	mu    sync.Mutex
	queue []ending
	// queued has the UIDs in the queue, so that the updates of an ended pod
	// neither lengthen it nor its grace.
	queued map[types.UID]struct{}
}

// ending is a pod that has ended.
type ending struct {
	identity
	uid types.UID
	due time.Time
}

func newEndings(clock clock.Clock, grace time.Duration, end func(namespace, name string, uid types.UID)) *endings {
	return &endings{clock: clock, grace: grace, end: end, first: make(chan struct{}, 1), queued: map[types.UID]struct{}{}}
}

// note takes note of a pod that the graph has just been told of. One that ended
// and came to its turn before is queued once more: to end it again changes
// nothing.
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

// run ends pods as they become due, until the context ends.
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

// next takes a pod that is due out of the queue, or tells in what time one is; 0
// if there is none.
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
