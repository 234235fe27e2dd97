// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// View takes what was read. It is safe for concurrent use.
type View interface {
	// Watches reports whether the view is made of the resource. What it is not made
	// of is not read.
	Watches(resource string) bool
	// Fold makes the view at least as new as the objects, and tells how many of them
	// were news to it. An error means that it cannot.
	Fold(resource string, objects ...runtime.Object) (news int, err error)
}

// Config is what a [Reader] needs.
type Config struct {
	// Client needs get and list on what the view watches. It must not limit its
	// rate: the budgets here are fair, and a limit behind them is not.
	Client kubernetes.Interface
	View   View
	// Limits are [DefaultLimits] if they are zero.
	Limits   Limits
	Registry metrics.KubeRegistry
	// Clock is the real one if it is nil. How long a read takes is always measured
	// in real time.
	Clock clock.WithDelayedExecution
}

// Reader reads on behalf of nodes. Use [New]. It is safe for concurrent use.
type Reader struct {
	client     kubernetes.Interface
	view       View
	limits     Limits
	clock      clock.WithDelayedExecution
	metrics    *recorder
	held       held
	complaints complaints

	// inFlight and pace are the budget of all nodes. Who is first in the line may
	// spend of it; strangers bounds a part of that line.
	inFlight, line, strangers *semaphore.Weighted
	pace                      *rate.Limiter
	flights                   sync.WaitGroup

	mu    sync.Mutex
	nodes map[string]*node
}

// New makes a Reader and registers its metrics. It reads nothing.
func New(config Config) *Reader {
	limits, timer := config.Limits, config.Clock
	if limits == (Limits{}) {
		limits = DefaultLimits()
	}
	if timer == nil {
		timer = clock.RealClock{}
	}
	return &Reader{
		client:    config.Client,
		view:      config.View,
		limits:    limits,
		clock:     timer,
		metrics:   newRecorder(config.Registry),
		held:      newHeld(limits, timer),
		inFlight:  semaphore.NewWeighted(int64(limits.InFlight)),
		line:      semaphore.NewWeighted(1),
		strangers: semaphore.NewWeighted(int64(limits.Strangers)),
		pace:      rate.NewLimiter(limits.Reads, limits.ReadBurst),
		nodes:     map[string]*node{},
	}
}

// Refresh makes the view at least as new as the call, in all that decides whether
// the object is related to the node. It is for callers that have just found in
// the view that it is not; they look again afterwards. A question that was
// answered with nothing new less than Limits.Hold ago is not read again.
//
// It is empty, or says as the end of a sentence why the view may still be behind:
// a budget is spent, the API server does not answer, or ctx has ended. It returns
// within Limits.Patience.
func (r *Reader) Refresh(ctx context.Context, node string, kind graph.Kind, namespace, name string) (why string) {
	asked := question{node: node, kind: kind, namespace: namespace, name: name}
	return r.refresh(ctx, asked, readsFor(kind, namespace, name))
}

// RefreshPod is Refresh for the pod that has that UID. Only a question about the same UID is
// not read again: a pod that was not there a moment ago does not come back, but another of
// its name may have replaced it since.
func (r *Reader) RefreshPod(ctx context.Context, node, namespace, name, uid string) (why string) {
	asked := question{node: node, kind: graph.Pod, namespace: namespace, name: name, uid: uid}
	return r.refresh(ctx, asked, readsFor(graph.Pod, namespace, name))
}

// RefreshNode is Refresh for whether there is a Node object of that name.
func (r *Reader) RefreshNode(ctx context.Context, node string) (why string) {
	return r.refresh(ctx, question{node: node, kind: nodeItself, name: node}, []read{readNode(node)})
}

// Wait returns when no read is in the air. It is for those who have called
// Refresh for the last time: a read may outlive its callers, for less than a
// second.
func (r *Reader) Wait() { r.flights.Wait() }

func (r *Reader) refresh(ctx context.Context, asked question, reads []read) string {
	if !asked.canExist() || r.held.has(asked) {
		return ""
	}
	began, news, short := r.perform(ctx, asked.node, reads)
	if short != none {
		r.metrics.refused(short)
		return short.text()
	}
	if news == 0 {
		r.held.add(asked, began)
	}
	return ""
}
