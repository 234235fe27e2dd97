// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopeindex stores the node-scope annotations of ServiceAccounts and pods, and finds
// the node of each pod.
//
// The index parses and stores each value once for all accounts of a namespace, and once for all
// its pods. Each namespace has a share of values ([MaxOwnValues]). A value beyond the share
// becomes the scope of everything: it never permits more than the owner intended, and it uses
// no memory. It does not affect other namespaces. The index stores nothing about a pod without
// an annotation: the graph of the node authorizer has the node of each pod.
//
// A pod must be added to the index before it is added to the graph, and removed from the graph
// before it is removed from the index. So a reader never finds a pod without its annotation.
package scopeindex

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// Pods finds the node of a pod.
type Pods interface {
	// BoundPod returns the pod of that name without its scope, if the pod is bound to a node.
	// The index calls it while it holds its lock, so BoundPod must not call the index.
	BoundPod(namespace, name string) (nodescope.Pod, bool)
}

// Index implements [nodescope.NodeInfo]. Use [New]. All methods are safe for concurrent use. A
// look-up sees every change that was made before it.
type Index struct {
	where Pods
	// unread is called for an object that gets a value that cannot be parsed, if its value
	// before could be parsed.
	unread func(kind, namespace, name string, err error)

	mu       sync.RWMutex
	values   *Values
	accounts map[types.NamespacedName]account
	pods     map[types.NamespacedName]annotatedPod
	// ofPods has, for each account, the values of its annotated pods.
	ofPods map[types.NamespacedName]*podScopes
}

var _ nodescope.NodeInfo = &Index{}

// annotatedPod is a pod with an annotation. It can also be a pod without one that replaced an
// annotated pod of its name: then scope is nil.
type annotatedPod struct {
	uid   types.UID
	runs  types.NamespacedName
	scope *Value
}

// podScopes are the values of the pods of one account, and the union of their scopes.
type podScopes struct {
	count map[*Value]int
	union *nodescope.Scope
}

// New returns an empty index. unread may be nil. The index calls it while it holds its lock, so
// it should not block, and must not call the index.
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

// Account implements [nodescope.NodeInfo].
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

// Pod implements [nodescope.NodeInfo]. A pod is not known if the index has the annotation of
// another pod with its name: one of the two is about to be replaced.
func (x *Index) Pod(namespace, name string) (nodescope.Pod, bool) {
	// The lock also covers the look-up in the graph. So the index has the annotation of each
	// pod that the graph returns.
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

// Stats are the numbers of objects in the index.
type Stats struct {
	// Accounts and Pods are those that have a scope of their own.
	Accounts, Pods int
	// UnreadAccounts and UnreadPods are those with an annotation that cannot be parsed.
	UnreadAccounts, UnreadPods int
	// AccountsOverShare and PodsOverShare are those with a value beyond the share of their namespace.
	AccountsOverShare, PodsOverShare int
}

// Stats counts every account and every annotated pod.
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
		if a.scope.overShare() {
			s.AccountsOverShare++
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
		if p.scope.overShare() {
			s.PodsOverShare++
		}
	}
	return s
}

// Candidates returns the accounts that need a place in the lists of the API servers: accounts
// with a scope, and accounts of pods with a scope.
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
