// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// Pods knows where pods are.
type Pods interface {
	// BoundPod returns the pod of that name without its scope, if the pod is bound to a node.
	// The index calls it under its lock, so it must not call the index.
	BoundPod(namespace, name string) (nodescope.Pod, bool)
}

// Index answers as [nodescope.NodeInfo]. Use [New]. All methods are safe for concurrent
// use; what was set before a question is asked counts in its answer.
type Index struct {
	where Pods
	// unread is told of who has a value that cannot be read, and had none before.
	unread func(kind, namespace, name string, err error)

	mu       sync.RWMutex
	values   *Values
	accounts map[types.NamespacedName]account
	pods     map[types.NamespacedName]annotatedPod
	// ofPods has, by account, what its annotated pods hold.
	ofPods map[types.NamespacedName]*podScopes
}

var _ nodescope.NodeInfo = &Index{}

// annotatedPod is a pod that has an annotation, or that has replaced one that had; of
// that the scope is nil.
type annotatedPod struct {
	uid   types.UID
	runs  types.NamespacedName
	scope *Value
}

// podScopes are the values of the pods of one account, and what they hold together.
type podScopes struct {
	count map[*Value]int
	union *nodescope.Scope
}

// New makes an index that knows nothing. unread, which may be nil, is called under the
// index' lock: it should not wait, and must not ask the index.
func New(where Pods, unread func(kind, namespace, name string, err error)) *Index {
	if unread == nil {
		unread = func(string, string, string, error) {}
	}
	return &Index{
		where:    where,
		unread:   unread,
		values:   NewValues(),
		accounts: map[types.NamespacedName]account{},
		pods:     map[types.NamespacedName]annotatedPod{},
		ofPods:   map[types.NamespacedName]*podScopes{},
	}
}

// Account implements [nodescope.NodeInfo]. It does not allocate.
func (x *Index) Account(namespace, name string) (nodescope.Account, bool) {
	named := types.NamespacedName{Namespace: namespace, Name: name}
	x.mu.RLock()
	defer x.mu.RUnlock()
	a, known := x.accounts[named]
	if !known {
		return nodescope.Account{}, false
	}
	found := nodescope.Account{Exemptions: a.exemptions, Audits: a.audits}
	if a.scope != nil {
		found.Scope = a.scope.scope
	}
	if of := x.ofPods[named]; of != nil {
		found.OfPods = of.union
	}
	return found, true
}

// Pod implements [nodescope.NodeInfo]. A pod whose annotation is that of another pod of
// its name is not known: the one is about to follow the other. It does not allocate.
func (x *Index) Pod(namespace, name string) (nodescope.Pod, bool) {
	// The index stands still meanwhile: what the graph shows of a pod, it has.
	x.mu.RLock()
	defer x.mu.RUnlock()
	pod, known := x.where.BoundPod(namespace, name)
	if !known {
		return nodescope.Pod{}, false
	}
	annotated, ok := x.pods[types.NamespacedName{Namespace: namespace, Name: name}]
	switch {
	case !ok:
		return pod, true
	case annotated.uid != pod.UID:
		return nodescope.Pod{}, false
	case annotated.scope != nil:
		pod.Scope = annotated.scope.scope
	}
	return pod, true
}
