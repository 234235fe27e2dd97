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

// View receives the results of reads. It must be safe for concurrent use.
type View interface {
	// Watches reports whether the view uses the resource. Other resources are not read.
	Watches(resource string) bool
	// Fold makes the view at least as new as the objects. It returns how many of the objects were
	// newer than the view. It returns an error if it cannot do that.
	Fold(resource string, objects ...runtime.Object) (news int, err error)
}

// Config is the configuration of a [Reader].
type Config struct {
	// Client needs get and list on the resources that the view watches. It must have no rate limit
	// of its own: the budgets of this package are fair between nodes, and such a limit is not.
	Client kubernetes.Interface
	View   View
	// Limits are [DefaultLimits] if they are zero.
	Limits   Limits
	Registry metrics.KubeRegistry
	// Clock is the real clock if it is nil. The duration of a read is always measured with the real
	// clock.
	Clock clock.WithDelayedExecution
}

// Reader reads from the API server to confirm the relations of nodes. Use [New]. It is safe for
// concurrent use.
type Reader struct {
	client        kubernetes.Interface
	view          View
	limits        Limits
	clock         clock.WithDelayedExecution
	metrics       *recorder
	negativeCache negativeCache
	complaints    complaints

	// inFlight and pace are the budget of all nodes. Only the first flight in line may spend it.
	// strangers limits a part of that line.
	inFlight, line, strangers *semaphore.Weighted
	pace                      *rate.Limiter
	flights                   sync.WaitGroup

	mu    sync.Mutex
	nodes map[string]*node
}

// New creates a Reader and registers its metrics. It reads nothing.
func New(config Config) *Reader {
	limits, timer := config.Limits, config.Clock
	if limits == (Limits{}) {
		limits = DefaultLimits()
	}
	if timer == nil {
		timer = clock.RealClock{}
	}
	return &Reader{
		client:        config.Client,
		view:          config.View,
		limits:        limits,
		clock:         timer,
		metrics:       newRecorder(config.Registry),
		negativeCache: newNegativeCache(limits, timer),
		inFlight:      semaphore.NewWeighted(int64(limits.InFlight)),
		line:          semaphore.NewWeighted(1),
		strangers:     semaphore.NewWeighted(int64(limits.Strangers)),
		pace:          rate.NewLimiter(limits.Reads, limits.ReadBurst),
		nodes:         map[string]*node{},
	}
}

// Refresh makes the view at least as new as the start of the call, for everything that decides
// whether the object is related to the node. Call it after the view did not have the relation, and
// check the view again afterwards. If a read for the same question returned nothing new less than
// Limits.NegativeCacheTTL ago, Refresh does not read again.
//
// why is empty if the view is current. Otherwise it is the reason, as the end of a sentence: a
// budget is spent, the API server does not answer, or ctx has ended. Refresh returns within
// Limits.QueueTimeout.
func (r *Reader) Refresh(ctx context.Context, node string, kind graph.Kind, namespace, name string) (why string) {
	asked := question{node: node, kind: kind, namespace: namespace, name: name}
	return r.refresh(ctx, asked, readsFor(kind, namespace, name))
}

// RefreshPod is Refresh for the pod with that UID. Only a recent read for the same UID replaces a
// new read. A deleted pod does not come back, but a new pod with its name may have replaced it.
func (r *Reader) RefreshPod(ctx context.Context, node, namespace, name, uid string) (why string) {
	asked := question{node: node, kind: graph.Pod, namespace: namespace, name: name, uid: uid}
	return r.refresh(ctx, asked, readsFor(graph.Pod, namespace, name))
}

// RefreshNode is Refresh for the Node object of that name.
func (r *Reader) RefreshNode(ctx context.Context, node string) (why string) {
	return r.refresh(ctx, question{node: node, kind: nodeItself, name: node}, []read{readNode(node)})
}

// Wait returns when no read is in flight. Call it after the last call of Refresh: a read may
// outlive its callers for less than a second.
func (r *Reader) Wait() { r.flights.Wait() }

func (r *Reader) refresh(ctx context.Context, asked question, reads []read) string {
	if !asked.canExist() || r.negativeCache.has(asked) {
		return ""
	}
	began, news, short := r.perform(ctx, asked.node, reads)
	if short != none {
		r.metrics.refused(short)
		return short.text()
	}
	if news == 0 {
		r.negativeCache.add(asked, began)
	}
	return ""
}
