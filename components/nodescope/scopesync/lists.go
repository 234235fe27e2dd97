// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

const (
	// longestWriteDelay is that after writes that failed one after the other.
	longestWriteDelay = time.Minute
	// longestAskDelay is how old what is known of the server may be; a new file is asked
	// about sooner. A server looks at its files at each event, and once a minute.
	longestAskDelay = 30 * time.Second
	// hurriedAskDelay is that for a server that has something else loaded than the files
	// say: mostly it is about to begin anew.
	hurriedAskDelay = 10 * time.Second
	// awayDelay is that for a server that does not answer, which is soon found out.
	awayDelay = 2 * interval
)

// look reads both files.
func (s *Syncer) look() {
	for _, l := range s.lists {
		var err error
		l.listed, err = l.file.Look()
		l.readable = err == nil
		if err != nil {
			s.problem(err.Error())
		}
	}
}

// beyondShare is told of people when there are more accounts than there is room for. It
// has no number and no name in it: whoever may annotate accounts could have it change all
// the time, and it would never be told as something that lasts.
const beyondShare = "some accounts have a scope and are not protected, because they are beyond their namespace's " +
	"share of the lists: " +
	"`bulkhead scope list` shows them as pending, and each has an event " + ReasonBeyondShare

// write puts into the lists what the cluster says.
func (s *Syncer) write(ctx context.Context) {
	// The API server lets nobody be named like that; one of them would keep out all.
	s.wanted = slices.DeleteFunc(s.index.Candidates(), func(c scopelist.Candidate) bool {
		err := scopelist.Validate(c.Account)
		if err != nil {
			s.notice(err.Error())
		}
		return err != nil
	})
	next, beyond := scopelist.Fit(slices.Concat(s.wanted, s.keep(ctx, s.wanted)))
	s.beyond = make(map[scopelist.Account]bool, len(beyond))
	for _, account := range beyond {
		s.beyond[account] = true
	}
	if len(beyond) > 0 {
		s.notice(beyondShare)
	}
	for _, l := range s.lists {
		if !l.readable {
			continue
		}
		if slices.Equal(next, l.listed) {
			l.writing.reset()
			continue
		}
		s.put(ctx, l, next)
	}
}

func (s *Syncer) put(ctx context.Context, l *list, next []scopelist.Account) {
	if !l.writing.isDue() {
		s.problem(l.writing.wrong)
		return
	}
	before := len(l.listed)
	wrote, err := l.file.Put(next)
	if errors.Is(err, atomicfile.ErrChanged) {
		// What it has become is looked at in the next turn.
		return
	}
	if err != nil {
		l.writing.failed(err, longestWriteDelay)
		s.problem(l.writing.wrong)
		return
	}
	l.writing.reset()
	if wrote {
		l.listed = next
		s.polling.reset()
		klog.FromContext(ctx).Info("Replaced a list of accounts", "file", l.file.Path, "before", before, "now", len(next))
	}
}

// ask learns which lists are in force.
func (s *Syncer) ask(ctx context.Context) {
	if s.polling.isDue() {
		loaded, err := s.Loaded(ctx)
		if err != nil {
			s.polling.failed(err, awayDelay)
		} else {
			s.loaded, s.polling.wrong = loaded, ""
			s.polling.later(s.askDelay())
		}
	}
	s.problem(s.polling.wrong)
	for _, l := range s.lists {
		of := l.of(s.loaded)
		if of.Refused && !l.file.IsLoaded(of.Hash) {
			s.problem("the API server has refused " + l.file.Path + " as it was, and goes on with what it had: see its log")
		}
		l.live = nil
		accounts, known := l.file.Listed(of.Hash)
		if !known {
			continue
		}
		l.live = make(map[scopelist.Account]bool, len(accounts))
		for _, account := range accounts {
			l.live[account] = true
		}
	}
}

// askDelay is how long what was just learned may stand.
func (s *Syncer) askDelay() time.Duration {
	for _, l := range s.lists {
		if l.readable && !l.file.IsLoaded(l.of(s.loaded).Hash) {
			return hurriedAskDelay
		}
	}
	return longestAskDelay
}
