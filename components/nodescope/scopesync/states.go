// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// askSeen asks both components which annotations they have seen. If one does not answer, its
// last answer still applies: a component that runs has seen at least that. While it does not
// run, the API server denies the requests that it would send to it. So no account becomes
// pending only because a component restarts.
func (s *Syncer) askSeen(ctx context.Context) {
	for i, decider := range s.Seen {
		versions, err := decider.Ask(ctx)
		if err != nil {
			s.notice(fmt.Sprintf("cannot ask %s on this host which annotations it has seen: %v", decider.Name, err))
			continue
		}
		s.seen[i] = versions
	}
}

// states returns the state of every account that has a scope, is in a file, or is in a list in
// force. An account is live in a list if two conditions are met. The API server has loaded a
// list with the account. The component that the server calls has seen the account's current
// annotations.
func (s *Syncer) states() map[scopelist.Account]scopelist.State {
	versions := s.index.Versions()
	authorization, admission := s.lists[0].live, s.lists[1].live
	all := map[scopelist.Account]scopelist.State{}
	note := func(account scopelist.Account) {
		v := versions[account]
		all[account] = scopelist.State{
			Authorization: authorization[account] && hasSeen(s.seen[0], v),
			Admission:     admission[account] && hasSeen(s.seen[1], v),
		}
	}
	for _, c := range s.wanted {
		note(c.Account)
	}
	for _, l := range s.lists {
		for _, account := range l.listed {
			note(account)
		}
		for account := range l.live {
			note(account)
		}
	}
	s.detail(all, versions)
	return all
}

func hasSeen(has SeenVersions, v scopeindex.Versions) bool {
	return has.Includes(serviceAccounts, v.Account) && has.Includes(pods, v.Pods)
}

// detail stores which annotations of each account are live. The time Since is kept while that
// does not change.
func (s *Syncer) detail(states map[scopelist.Account]scopelist.State,
	versions map[scopelist.Account]scopeindex.Versions) {
	now := time.Now().UTC().Truncate(time.Second)
	details := make(map[scopelist.Account]scopelist.Detail, len(states))
	for account, state := range states {
		if state == (scopelist.State{}) {
			continue
		}
		if !s.view.HasSynced() {
			// The current annotations are not known yet. The last details are still correct,
			// because the lists have not changed. A reader who compares the digest sees whether
			// the annotations have changed.
			details[account] = s.details[account]
			continue
		}
		d := scopelist.Detail{Digest: versions[account].Digest}
		if state.Authorization && state.Admission {
			d.Since = now
			if before := s.details[account]; before.Digest == d.Digest && !before.Since.IsZero() {
				d.Since = before.Since
			}
		}
		details[account] = d
	}
	s.details = details
}
