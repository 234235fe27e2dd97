// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package annotated knows which ServiceAccounts have a scope: those that are annotated,
// and those that a pod with an annotation runs as.
//
// An annotation counts whatever it says. One that nobody can read holds its pods to their
// nodes on everything, so its account is one of those whose requests have to be decided.
//
// It keeps nothing of who has no annotation.
package annotated

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// Index is told of accounts and pods. Use [New]. All methods are safe for concurrent use.
type Index struct {
	mu       sync.RWMutex
	accounts map[types.NamespacedName]annotation
	pods     map[types.NamespacedName]podAnnotation
}

// annotation is one that an object has.
type annotation struct {
	uid types.UID
	// wrong says why it cannot be read; empty if it can.
	wrong string
}

type podAnnotation struct {
	annotation
	runsAs scopelist.Account
}

// Unread is an object whose annotation cannot be read.
type Unread struct {
	// Kind is Pod or ServiceAccount.
	Kind, Namespace, Name string
	UID                   types.UID
	// Reason says what is wrong with it.
	Reason string
}

// New makes an index that knows nobody.
func New() *Index {
	return &Index{
		accounts: map[types.NamespacedName]annotation{},
		pods:     map[types.NamespacedName]podAnnotation{},
	}
}

// Accounts are those that have a scope, in order. Some may not exist: a pod may run as an
// account that was deleted.
func (x *Index) Accounts() []scopelist.Account {
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := make(map[scopelist.Account]struct{}, len(x.accounts))
	for account := range x.accounts {
		all[account] = struct{}{}
	}
	for _, pod := range x.pods {
		all[pod.runsAs] = struct{}{}
	}
	return slices.SortedFunc(maps.Keys(all), scopelist.Compare)
}

// UID is that of an account that is annotated itself; empty for others.
func (x *Index) UID(account scopelist.Account) types.UID {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.accounts[account].uid
}

// Unread are the objects whose annotation cannot be read, in order.
func (x *Index) Unread() []Unread {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []Unread
	add := func(kind string, named types.NamespacedName, a annotation) {
		if a.wrong != "" {
			all = append(all, Unread{Kind: kind, Namespace: named.Namespace, Name: named.Name, UID: a.uid, Reason: a.wrong})
		}
	}
	for named, a := range x.accounts {
		add("ServiceAccount", named, a)
	}
	for named, pod := range x.pods {
		add("Pod", named, pod.annotation)
	}
	slices.SortFunc(all, func(a, b Unread) int {
		return strings.Compare(a.Kind+"/"+a.Namespace+"/"+a.Name, b.Kind+"/"+b.Namespace+"/"+b.Name)
	})
	return all
}
