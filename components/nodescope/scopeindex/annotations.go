// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package annotated knows which ServiceAccounts have a scope: those that are annotated,
// and those that a pod with an annotation runs as.
//
// An annotation counts whatever it says. One that nobody can read holds its pods to their
// nodes on everything, so its account is one of those whose requests have to be decided.
//
// It keeps nothing of who has no annotation.
package scopeindex

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// Annotations is told of accounts and pods. Use [NewAnnotations]. All methods are safe for concurrent use.
type Annotations struct {
	mu       sync.RWMutex
	values   *Values
	accounts map[types.NamespacedName]annotation
	pods     map[types.NamespacedName]podAnnotation
}

// annotation is what an object says of node scope.
type annotation struct {
	uid types.UID
	// created is that of an account.
	created time.Time
	// scope is nil for an account that has only other annotations of node scope.
	scope *Value
	// digest identifies the annotations; version is the resource version in which they
	// were first seen as they are.
	digest, version string
}

type podAnnotation struct {
	annotation
	runsAs scopelist.Account
}

// Unread is an object whose annotation cannot be read, or is beyond its namespace's share.
type Unread struct {
	// Kind is Pod or ServiceAccount.
	Kind, Namespace, Name string
	UID                   types.UID
	// Reason says what is wrong with it.
	Reason string
}

// NewAnnotations makes an index that knows nobody.
func NewAnnotations() *Annotations {
	return &Annotations{
		values:   NewValues(),
		accounts: map[types.NamespacedName]annotation{},
		pods:     map[types.NamespacedName]podAnnotation{},
	}
}

// Candidates are the accounts that have a scope, in the order of [scopelist.Order]. Some
// may not exist: a pod may run as an account that was deleted.
func (x *Annotations) Candidates() []scopelist.Candidate {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []scopelist.Candidate
	for account, a := range x.accounts {
		if a.scope != nil {
			all = append(all, scopelist.Candidate{Account: account, Created: a.created})
		}
	}
	ofPods := map[scopelist.Account]bool{}
	for _, pod := range x.pods {
		if x.accounts[pod.runsAs].scope == nil && !ofPods[pod.runsAs] {
			ofPods[pod.runsAs] = true
			all = append(all, scopelist.Candidate{Account: pod.runsAs, Rank: scopelist.OfPods})
		}
	}
	return scopelist.Order(all)
}

// UID is that of an account that is annotated itself; empty for others.
func (x *Annotations) UID(account scopelist.Account) types.UID {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.accounts[account].uid
}

// Unread are the objects whose annotation cannot be read, in order.
func (x *Annotations) Unread() []Unread {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []Unread
	add := func(kind string, named types.NamespacedName, a annotation) {
		if a.scope != nil && a.scope.Err != nil {
			all = append(all, Unread{Kind: kind, Namespace: named.Namespace, Name: named.Name, UID: a.uid,
				Reason: a.scope.Err.Error()})
		}
	}
	for named, a := range x.accounts {
		add("ServiceAccount", named, a)
	}
	for named, pod := range x.pods {
		add("Pod", named, pod.annotation)
	}
	slices.SortFunc(all, func(a, b Unread) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name))
	})
	return all
}

// Versions says what the annotations of an account and of its pods are now, and which
// resource versions show it.
type Versions struct {
	// Digest identifies the annotations ([scopelist.Digest]).
	Digest string
	// Account and Pods are the newest resource versions in which annotations of the account
	// and of its pods have changed; empty if there are none.
	Account, Pods string
}

// Versions are those of every account that is annotated, or of which a pod is.
func (x *Annotations) Versions() map[scopelist.Account]Versions {
	x.mu.RLock()
	defer x.mu.RUnlock()
	ofPods := map[scopelist.Account]map[string]struct{}{}
	all := make(map[scopelist.Account]Versions, len(x.accounts))
	for account, a := range x.accounts {
		all[account] = Versions{Account: a.version}
	}
	for _, pod := range x.pods {
		if ofPods[pod.runsAs] == nil {
			ofPods[pod.runsAs] = map[string]struct{}{}
		}
		ofPods[pod.runsAs][pod.digest] = struct{}{}
		v := all[pod.runsAs]
		v.Pods = newer(v.Pods, pod.version)
		all[pod.runsAs] = v
	}
	for account, v := range all {
		v.Digest = scopelist.Digest(x.accounts[account].digest, ofPods[account])
		all[account] = v
	}
	return all
}

// newer returns the newer of two resource versions. One that cannot be compared wins: no
// component can have seen it, so the account is shown as pending.
func newer(a, b string) string {
	if a == "" {
		return b
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil || order < 0 {
		return b
	}
	return a
}
