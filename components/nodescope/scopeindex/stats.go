// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import "github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"

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
