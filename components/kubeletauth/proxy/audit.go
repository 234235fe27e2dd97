// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"
)

const (
	// passedLines and refusedLines bound the lines that wait to be written, each of
	// which is bounded (see [Line.kept]).
	passedLines  = 4096
	refusedLines = 1024
	// logPatience is how long a request that was let through waits for its line to find
	// room.
	logPatience = time.Second
	// lastWords is how long the lines that wait get when the program ends.
	lastWords = 2 * time.Second
	// gathering is how long a line waits for others to be written with it: to wake the
	// writer for each would cost the requests their time on the cores.
	gathering = 10 * time.Millisecond
)

// queue is one of the two kinds of lines.
type queue int

const (
	ofPassed queue = iota
	ofRefused
	queues
)

// Audit writes lines as JSON. It is safe for concurrent use.
//
// A line is written at most 10 ms after it was put, with those that came meanwhile: a
// crash may lose those. When the program is told to end, all that wait are written.
//
// Lines of requests that were let through and lines of refusals wait apart. They are
// written in the order in which they were put, unless many of the former wait, which go
// first then: who is refused a thousand times a second hides nothing. A refusal that
// finds no room is lost at once. A request that was let through waits for up to a second
// until its line has room. If that was in vain, others do not wait until a line was
// written again: a log that takes nothing holds nobody up for long. What is lost is
// counted.
type Audit struct {
	waiting [queues]chan turn
	// turns counts the lines that were put.
	turns atomic.Uint64
	// hurry has the lines written that are gathered, before there is no room.
	hurry chan struct{}
	// stuck is true after somebody has waited in vain.
	stuck atomic.Bool

	// first is the next of each queue, if it was taken from there.
	first [queues]*turn

	out     io.Writer
	encoder *json.Encoder
	// batch has so many lines.
	batch bytes.Buffer
	lines int
	// batched hear of the batch.
	batched []chan<- error

	lostPassed, lostRefused, lostWritten metrics.CounterMetric
}

// turn is a line with its place among all.
type turn struct {
	Line
	number uint64
	// written, if not nil, hears once whether the line was written. It has room for that.
	written chan<- error
}

// NewAudit writes to out, once it runs. out nil has no line written.
func NewAudit(out io.Writer, registry metrics.KubeRegistry) *Audit {
	lost := metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "bulkhead_audit_lines_dropped_total",
		Help: "Audit lines that were lost: of requests that were let through, which waited in vain (passed), of refusals, " +
			"for which there was no room (refused), " +
			"and of either, because writing failed (write).",
	}, []string{"reason"})
	registry.MustRegister(lost)
	a := &Audit{
		out:         out,
		lostPassed:  lost.WithLabelValues("passed"),
		lostRefused: lost.WithLabelValues("refused"),
		lostWritten: lost.WithLabelValues("write"),
	}
	if out != nil {
		a.waiting = [queues]chan turn{ofPassed: make(chan turn, passedLines), ofRefused: make(chan turn, refusedLines)}
		a.hurry = make(chan struct{}, 1)
		a.encoder = json.NewEncoder(&a.batch)
		a.encoder.SetEscapeHTML(false)
	}
	return a
}

// put has a line written soon. It waits only with one of a request that was let
// through.
func (a *Audit) put(line *Line, passed bool) {
	if a.out == nil {
		return
	}
	one := turn{Line: line.kept(), number: a.turns.Add(1)}
	if passed {
		a.putPassed(one)
		return
	}
	select {
	case a.waiting[ofRefused] <- one:
		a.hurryUp(ofRefused)
	default:
		a.lostRefused.Inc()
	}
}

func (a *Audit) putPassed(line turn) {
	select {
	case a.waiting[ofPassed] <- line:
		a.hurryUp(ofPassed)
		return
	default:
	}
	if a.stuck.Load() {
		a.lostPassed.Inc()
		return
	}
	timer := time.NewTimer(logPatience)
	defer timer.Stop()
	select {
	case a.waiting[ofPassed] <- line:
	case <-timer.C:
		a.stuck.Store(true)
		a.lostPassed.Inc()
	}
}

// many is true if a queue is half full.
func (a *Audit) many(of queue) bool { return len(a.waiting[of]) >= cap(a.waiting[of])/2 }

// hurryUp ends the gathering if many wait.
func (a *Audit) hurryUp(of queue) {
	if a.many(of) {
		a.hurryNow()
	}
}

func (a *Audit) hurryNow() {
	select {
	case a.hurry <- struct{}{}:
	default:
		// It has been said.
	}
}
