// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"context"
	"io"
)

// Background is a job that runs in parallel to the steps of a longer job. Its output is kept for
// the step that waits for it.
type Background struct {
	cancel context.CancelFunc
	done   chan struct{}
	// These may be read when done is closed.
	log bytes.Buffer
	err error
}

// Begin starts a job. Call Stop when its result may no longer be needed.
func Begin(ctx context.Context, do func(ctx context.Context, log io.Writer) error) *Background {
	ctx, cancel := context.WithCancel(ctx)
	b := &Background{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.err = do(ctx, &b.log)
	}()
	return b
}

// Wait waits for the end of the job and returns its error. It writes the job's output to log. It
// may be called once.
func (b *Background) Wait(log io.Writer) error {
	<-b.done
	if _, err := b.log.WriteTo(log); err != nil {
		return err
	}
	return b.err
}

// Stop interrupts the job if it still runs, and returns when it has ended.
func (b *Background) Stop() {
	b.cancel()
	<-b.done
}
