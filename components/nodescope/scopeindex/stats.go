// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

// Stats counts what there is.
type Stats struct {
	// Accounts and Pods are those that have a scope of their own.
	Accounts, Pods int
	// UnreadAccounts and UnreadPods are those of which an annotation cannot be read.
	UnreadAccounts, UnreadPods int
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
	}
	for _, p := range x.pods {
		if p.scope == nil {
			continue
		}
		s.Pods++
		if p.scope.misread() {
			s.UnreadPods++
		}
	}
	return s
}
