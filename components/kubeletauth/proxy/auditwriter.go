// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"sync"
	"time"
)

// batchBytes is how much is written at once while more waits.
const batchBytes = 32 << 10

// Run writes until ctx is done, and then what waits, unless that takes too long.
func (a *Audit) Run(ctx context.Context) {
	if a.out == nil {
		return
	}
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer close(done)
		for a.gather(ctx) {
			a.writeAll()
		}
		a.writeAll()
	})
	<-ctx.Done()
	select {
	case <-done:
		group.Wait()
	case <-time.After(lastWords):
		// A pipe that nobody empties cannot be waited for.
	}
}

// gather waits for a line, and then for others to be written with it. It is false once
// ctx is done.
func (a *Audit) gather(ctx context.Context) bool {
	select {
	case line := <-a.waiting[ofPassed]:
		a.first[ofPassed] = &line
	case line := <-a.waiting[ofRefused]:
		a.first[ofRefused] = &line
	case <-ctx.Done():
		return false
	}
	timer := time.NewTimer(gathering)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.hurry:
		return true
	case <-ctx.Done():
		return false
	}
}

// writeAll writes until no line waits.
func (a *Audit) writeAll() {
	for line := a.next(); line != nil; line = a.next() {
		a.encode(line)
	}
	a.flush()
}

// next takes the line whose turn it is; nil if there is none.
func (a *Audit) next() *turn {
	for of := range a.first {
		if a.first[of] == nil {
			select {
			case line := <-a.waiting[of]:
				a.first[of] = &line
			default:
			}
		}
	}
	passed, refused := a.first[ofPassed], a.first[ofRefused]
	if passed == nil || refused != nil && refused.number < passed.number && !a.many(ofPassed) {
		a.first[ofRefused] = nil
		return refused
	}
	a.first[ofPassed] = nil
	return passed
}

func (a *Audit) encode(one *turn) {
	a.stuck.Store(false)
	one.printable()
	err := a.encoder.Encode(&one.Line)
	if one.written != nil {
		if err != nil {
			one.written <- err
		} else {
			a.batched = append(a.batched, one.written)
		}
	}
	if err != nil {
		a.lostWritten.Inc()
		return
	}
	a.lines++
	if a.batch.Len() >= batchBytes {
		a.flush()
	}
}

// flush writes. What could not be written is lost; what comes later is not: a disk may
// have room again.
func (a *Audit) flush() {
	if a.lines == 0 {
		return
	}
	_, err := a.out.Write(a.batch.Bytes())
	a.stuck.Store(false)
	a.batch.Reset()
	for _, written := range a.batched {
		written <- err
	}
	clear(a.batched)
	a.batched = a.batched[:0]
	if err != nil {
		a.lostWritten.Add(float64(a.lines))
		// The last of them may have been written in part.
		a.batch.WriteByte('\n')
	}
	a.lines = 0
}
