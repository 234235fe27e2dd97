// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
)

// milestone is a moment of one lane that another waits for. Nobody waits for one that is
// nil.
type milestone struct {
	once   sync.Once
	passed chan struct{}
}

func newMilestone() *milestone { return &milestone{passed: make(chan struct{})} }

// pass may be called more than once.
func (m *milestone) pass() {
	if m != nil {
		m.once.Do(func() { close(m.passed) })
	}
}

func (m *milestone) isPassed() bool {
	if m == nil {
		return true
	}
	select {
	case <-m.passed:
		return true
	default:
		return false
	}
}

// await waits for a milestone of another lane, and takes the time of it, if it has to.
func (l *lane) await(ctx context.Context, m *milestone, what string) error {
	if m.isPassed() {
		return nil
	}
	return l.timed("waiting for "+what, func() (count, error) {
		select {
		case <-m.passed:
			return count{}, nil
		case <-ctx.Done():
			return count{}, fmt.Errorf("interrupted: %w", ctx.Err())
		}
	})
}
