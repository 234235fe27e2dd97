// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"sync"
	"time"
)

// batchBytes is the size at which a batch is written even if more events wait.
const batchBytes = 32 << 10

// Run writes events until ctx is done. Then it writes the queues, for up to flushTimeout.
func (a *Audit) Run(ctx context.Context) {
	if a.out == nil {
		return
	}
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer close(done)
		for a.batchEvents(ctx) {
			a.writeAll()
		}
		a.writeAll()
	})
	<-ctx.Done()
	select {
	case <-done:
		group.Wait()
	case <-time.After(flushTimeout):
		// A write to a pipe that no process reads blocks forever.
	}
}

// batchEvents waits for an event, and then for more events of the same batch. It returns false when
// ctx is done.
func (a *Audit) batchEvents(ctx context.Context) bool {
	select {
	case event := <-a.waiting[queueAllowed]:
		a.first[queueAllowed] = &event
	case event := <-a.waiting[queueDenied]:
		a.first[queueDenied] = &event
	case <-ctx.Done():
		return false
	}
	timer := time.NewTimer(batchDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.flushSignal:
		return true
	case <-ctx.Done():
		return false
	}
}

// writeAll writes until the queues are empty.
func (a *Audit) writeAll() {
	for event := a.next(); event != nil; event = a.next() {
		a.encode(event)
	}
	a.flush()
}

// next returns the next event, or nil if there is none.
func (a *Audit) next() *queuedEvent {
	for of := range a.first {
		if a.first[of] == nil {
			select {
			case event := <-a.waiting[of]:
				a.first[of] = &event
			default:
			}
		}
	}
	allowed, denied := a.first[queueAllowed], a.first[queueDenied]
	if allowed == nil || denied != nil && denied.number < allowed.number && !a.halfFull(queueAllowed) {
		a.first[queueDenied] = nil
		return denied
	}
	a.first[queueAllowed] = nil
	return allowed
}

func (a *Audit) encode(one *queuedEvent) {
	a.stuck.Store(false)
	one.sanitize()
	err := a.encoder.Encode(&one.AuditEvent)
	if one.written != nil {
		if err != nil {
			one.written <- err
		} else {
			a.acks = append(a.acks, one.written)
		}
	}
	if err != nil {
		a.droppedWrite.Inc()
		return
	}
	a.lines++
	if a.batch.Len() >= batchBytes {
		a.flush()
	}
}

// flush writes the batch. If the write fails, the batch is dropped. Later batches are still
// written, because a full disk may have space again.
func (a *Audit) flush() {
	if a.lines == 0 {
		return
	}
	_, err := a.out.Write(a.batch.Bytes())
	a.stuck.Store(false)
	a.batch.Reset()
	for _, written := range a.acks {
		written <- err
	}
	clear(a.acks)
	a.acks = a.acks[:0]
	if err != nil {
		a.droppedWrite.Add(float64(a.lines))
		// A part of the last event may have been written. A line break separates it from the next
		// event.
		a.batch.WriteByte('\n')
	}
	a.lines = 0
}
