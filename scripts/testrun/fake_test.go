// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var errBroken = errors.New("it is broken")

// stand is a run without a cluster, and what it has been told to do. Every step takes an
// hour, but in a bubble of synctest no time.
type stand struct {
	*run
	said strings.Builder
	// broken are calls that fail, by how they begin.
	broken []string

	mu   sync.Mutex
	jobs []job
	// events are calls, by how they begin and end, in order.
	events []string
}

func newStand(t *testing.T, broken ...string) *stand {
	// Put back when the test is over.
	for _, name := range []string{"E2E_KUBECONFIG", "E2E_PROFILE", "E2E_NODE_EXEC", "NODE_IMAGE"} {
		t.Setenv(name, "")
	}
	s := &stand{run: newRun(t.TempDir()), broken: broken}
	s.out = &s.said
	s.works = works{
		verify: func(ctx context.Context, l *lane) error { return l.timed("verify", s.one(ctx, "verify")) },
		unit:   func(ctx context.Context, l *lane) error { return l.timed("unit", s.one(ctx, "unit")) },
		fuzz:   func(ctx context.Context, _ io.Writer) (count, error) { return s.one(ctx, "fuzz")() },
		compile: func(ctx context.Context) error {
			_, err := s.one(ctx, "compile")()
			return err
		},
		specs: s.specs,
		refcluster: func(ctx context.Context, _ io.Writer, args ...string) error {
			_, err := s.one(ctx, strings.Join(args, " "))()
			return err
		},
		machine: func(context.Context, func()) (func(), error) {
			if slices.Contains(s.broken, "machine") {
				return nil, errBroken
			}
			s.note("machine taken")
			return func() { s.note("machine released") }, nil
		},
		onNode: func(_ context.Context, node, _ string) error {
			s.note("on " + node)
			return nil
		},
		manifests: func(ctx context.Context, _ *lane) (count, error) { return s.one(ctx, "manifests")() },
	}
	return s
}

// one is a step that passes, unless it is broken or interrupted.
func (s *stand) one(ctx context.Context, what string) func() (count, error) {
	return func() (count, error) {
		s.note("begin " + what)
		defer s.note("end " + what)
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
			return count{}, ctx.Err()
		}
		if slices.ContainsFunc(s.broken, func(b string) bool { return strings.HasPrefix(what, b) }) {
			return count{}, errBroken
		}
		return count{passed: 1}, nil
	}
}

func (s *stand) specs(ctx context.Context, j job, out io.Writer) (count, error) {
	s.mu.Lock()
	s.jobs = append(s.jobs, j)
	s.mu.Unlock()
	_, _ = io.WriteString(out, "a line of "+j.name+"\nand one that ")
	_, _ = io.WriteString(out, "comes in two\n")
	return s.one(ctx, j.profile+" "+j.name)()
}

func (s *stand) note(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
}

// at is when an event was, or -1: an event is given by how it begins.
func (s *stand) at(event string) int {
	return slices.IndexFunc(s.events, func(e string) bool { return strings.HasPrefix(e, event) })
}

// inOrder fails the test if one of the events was not, or not after that before it.
func (s *stand) inOrder(t *testing.T, events ...string) {
	t.Helper()
	before := -1
	for _, event := range events {
		at := s.at(event)
		if at <= before {
			t.Errorf("%q was number %d, after number %d was wanted; there was:\n%s", event, at, before, strings.Join(s.events, "\n"))
		}
		before = at
	}
}
