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
	// longestWriteDelay is the maximum delay after failed writes.
	longestWriteDelay = time.Minute
	// longestAskDelay is the maximum age of the known state of the server. A new file is
	// checked sooner. A server checks its files at each file event, and once a minute.
	longestAskDelay = 30 * time.Second
	// hurriedAskDelay is the delay if the server has loaded another file than the one on disk.
	// In most cases the server is about to reload.
	hurriedAskDelay = 10 * time.Second
	// awayDelay is the delay for a server that does not answer. Such a request fails quickly.
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

// overShareMessage is the message when there are more accounts than room. It contains no number and
// no name: a user who can annotate accounts could change them again and again. Then the message
// would never be the same for long enough to be reported as lasting.
const overShareMessage = "some accounts have a scope and are not protected, because they are beyond their " +
	"namespace's share of the lists: " +
	"`bulkhead scope list` shows them as pending, and each has an event " + ReasonOverShare

// write updates the lists from the annotations in the cluster.
func (s *Syncer) write(ctx context.Context) {
	// The API server accepts no account with such a name. But one invalid name would prevent
	// the whole list from being written.
	s.wanted = slices.DeleteFunc(s.index.Candidates(), func(c scopelist.Candidate) bool {
		err := scopelist.Validate(c.Account)
		if err != nil {
			s.notice(err.Error())
		}
		return err != nil
	})
	next, overShare := scopelist.Fit(slices.Concat(s.wanted, s.keep(ctx, s.wanted)))
	s.overShare = make(map[scopelist.Account]bool, len(overShare))
	for _, account := range overShare {
		s.overShare[account] = true
	}
	if len(overShare) > 0 {
		s.notice(overShareMessage)
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
		// The next turn reads the new content.
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

// ask reads which lists are in force.
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

// askDelay returns how long the state of the server is used before it is read again.
func (s *Syncer) askDelay() time.Duration {
	for _, l := range s.lists {
		if l.readable && !l.file.IsLoaded(l.of(s.loaded).Hash) {
			return hurriedAskDelay
		}
	}
	return longestAskDelay
}
