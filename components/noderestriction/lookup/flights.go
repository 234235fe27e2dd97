// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"
	"sync"
)

// flights shares calls for the same question. An answer goes only to callers who asked before the
// call began. The zero value is ready to use.
type flights struct {
	mu    sync.Mutex
	calls map[question]*questionCalls
}

// questionCalls has the calls for one question: whether one is running, and the next one.
type questionCalls struct {
	inAir bool
	next  *flight
}

// flight is one call for all callers who ask before it begins. flights.mu guards callers. answer
// and err are set before done is closed.
type flight struct {
	call    call
	ctx     context.Context
	cancel  context.CancelFunc
	callers int
	done    chan struct{}
	answer  any
	err     error
}

// call calls the API server. Several callers share its result.
type call func(context.Context) (any, error)

// do returns the answer of a call that begins after do was called. If ctx ends first, it returns
// the cause.
func (f *flights) do(ctx context.Context, asked question, c call) (any, error) {
	joined := f.join(ctx, asked, c)
	defer f.leave(asked, joined)
	select {
	case <-joined.done:
		return joined.answer, joined.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// join adds the caller to the next call. The call continues after this caller's ctx ends, as long
// as another caller waits for it.
func (f *flights) join(ctx context.Context, asked question, c call) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[question]*questionCalls{}
	}
	l := f.calls[asked]
	if l == nil {
		l = &questionCalls{}
		f.calls[asked] = l
	}
	if l.next == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		l.next = &flight{call: c, ctx: ctx, cancel: cancel, done: make(chan struct{})}
	}
	joined := l.next
	joined.callers++
	if !l.inAir {
		f.departLocked(asked, l)
	}
	return joined
}

// leave removes the caller from the call. If no caller waits, the call does not begin, or is
// canceled.
func (f *flights) leave(asked question, left *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left.callers--
	if left.callers > 0 {
		return
	}
	left.cancel()
	if l := f.calls[asked]; l != nil && l.next == left {
		l.next = nil
	}
}

func (f *flights) departLocked(asked question, l *questionCalls) {
	departing := l.next
	l.inAir, l.next = true, nil
	go func() {
		defer f.land(asked, l, departing)
		departing.fly()
	}()
}

func (f *flights) land(asked question, l *questionCalls, landed *flight) {
	close(landed.done)
	landed.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	l.inAir = false
	if l.next == nil {
		delete(f.calls, asked)
		return
	}
	f.departLocked(asked, l)
}

// fly makes the call. It turns a panic into an error of this call.
func (f *flight) fly() {
	defer func() {
		if cause := recover(); cause != nil {
			f.answer, f.err = nil, fmt.Errorf("panic: %v", cause)
		}
	}()
	f.answer, f.err = f.call(f.ctx)
}
