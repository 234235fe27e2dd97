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

// askSeen learns what the components that decide have seen. What one that does not answer
// said last still holds: it has not seen more, and while it does not run the API server
// denies what it would ask it. So nobody becomes pending only because it starts again.
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

// states tells of everybody who has a scope, is in a file or is in force. An account is
// live in a list when the API server has loaded it, and the component that the server asks
// has seen what the annotations say now.
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

// detail notes what is live of each account, and keeps since when as long as that is so.
func (s *Syncer) detail(states map[scopelist.Account]scopelist.State,
	versions map[scopelist.Account]scopeindex.Versions) {
	now := time.Now().UTC().Truncate(time.Second)
	details := make(map[scopelist.Account]scopelist.Detail, len(states))
	for account, state := range states {
		if state == (scopelist.State{}) {
			continue
		}
		if !s.view.HasSynced() {
			// Nobody knows yet what the annotations say. What was told last is still so: the
			// lists have not changed, and who compares sees whether the annotations have.
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
