// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

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

// Annotations stores which ServiceAccounts have a scope: accounts with the annotation, and
// accounts of pods with the annotation. Use [NewAnnotations]. All methods are safe for
// concurrent use.
//
// Any value of the annotation counts. If a value cannot be parsed, its pods are limited to
// their nodes on every resource. So the requests of that account must be decided too.
//
// Annotations stores nothing about accounts and pods without an annotation.
type Annotations struct {
	mu       sync.RWMutex
	values   *Values
	accounts map[types.NamespacedName]annotation
	pods     map[types.NamespacedName]podAnnotation
}

// annotation is the state of the node-scope annotations of one object.
type annotation struct {
	uid types.UID
	// created is the creation time of an account.
	created time.Time
	// scope is nil for an account that has only other annotations of node scope.
	scope *Value
	// digest identifies the annotations. version is the resource version in which the current
	// annotations were first seen.
	digest, version string
}

type podAnnotation struct {
	annotation
	runsAs scopelist.Account
}

// Unread is an object whose annotation cannot be parsed, or exceeds the share of its namespace.
type Unread struct {
	// Kind is Pod or ServiceAccount.
	Kind, Namespace, Name string
	UID                   types.UID
	// Reason is the error.
	Reason string
}

// NewAnnotations returns an empty index.
func NewAnnotations() *Annotations {
	return &Annotations{
		values:   NewValues(),
		accounts: map[types.NamespacedName]annotation{},
		pods:     map[types.NamespacedName]podAnnotation{},
	}
}

// Candidates returns the accounts that have a scope, in the order of [scopelist.Order]. An
// account in the result may not exist: a pod can outlive its account.
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

// UID returns the UID of an account that has an annotation itself. It is empty for other
// accounts.
func (x *Annotations) UID(account scopelist.Account) types.UID {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.accounts[account].uid
}

// Unread returns the objects whose annotation cannot be parsed, sorted.
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

// Versions identifies the current annotations of an account and of its pods, and the resource
// versions that contain them.
type Versions struct {
	// Digest identifies the annotations ([scopelist.Digest]).
	Digest string
	// Account and Pods are the newest resource versions in which an annotation of the account,
	// or of one of its pods, changed. They are empty if there is no annotation.
	Account, Pods string
}

// Versions returns the versions of every account that has an annotation itself or on one of its
// pods.
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

// newer returns the newer of two resource versions. A version that cannot be compared wins. No
// component reports that it has seen such a version, so the account stays pending.
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
