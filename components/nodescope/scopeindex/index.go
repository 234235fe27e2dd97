// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopeindex knows what the annotations of ServiceAccounts and pods say about
// node scope, and which pod is where.
//
// It keeps a parsed value once for all accounts of a namespace, and once for all its pods,
// however many have it. Each namespace has a share ([MaxOwnValues]). A value beyond the
// share holds its pods on everything, which is never wider than meant and takes no room;
// what other namespaces have does not change. Of a pod without an annotation it keeps
// nothing: where pods are the graph of the node authorizer knows.
//
// A pod is told to the index before it is told to the graph, and taken from the graph
// before it is taken from the index. So nobody finds a pod without its annotation.
package scopeindex

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
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

// Stats counts what there is.
type Stats struct {
	// Accounts and Pods are those that have a scope of their own.
	Accounts, Pods int
	// UnreadAccounts and UnreadPods are those of which an annotation cannot be read.
	UnreadAccounts, UnreadPods int
	// BeyondAccounts and BeyondPods are those of which the value is beyond the share of
	// their namespace.
	BeyondAccounts, BeyondPods int
}

// Stats looks at every account and at every annotated pod.
func (x *Index) Stats() Stats {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var s Stats
	for _, a := range x.accounts {
		if a.scope != nil {
			s.Accounts++
		}
		if a.misread || a.scope.misread() {
			s.UnreadAccounts++
		}
		if a.scope.beyond() {
			s.BeyondAccounts++
		}
	}
	for _, p := range x.pods {
		if p.scope == nil {
			continue
		}
		s.Pods++
		if p.scope.misread() {
			s.UnreadPods++
		}
		if p.scope.beyond() {
			s.BeyondPods++
		}
	}
	return s
}

// Candidates are the accounts that want a place in the lists of the API servers: those that
// have a scope, and those that a pod with a scope runs as.
func (x *Index) Candidates() []scopelist.Candidate {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []scopelist.Candidate
	for named, a := range x.accounts {
		if a.scope != nil {
			all = append(all, scopelist.Candidate{Account: named, Created: a.created})
		}
	}
	for named := range x.ofPods {
		if x.accounts[named].scope == nil && named.Name != "" {
			all = append(all, scopelist.Candidate{Account: named, Rank: scopelist.OfPods})
		}
	}
	return all
}
