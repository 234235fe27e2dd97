// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	// allowedEvents and deniedEvents bound the two queues. [AuditEvent.clone] bounds an event.
	allowedEvents = 4096
	deniedEvents  = 1024
	// auditTimeout bounds an allowed request's wait for its event.
	auditTimeout = time.Second
	// flushTimeout bounds the writing of the queues at shutdown.
	flushTimeout = 2 * time.Second
	// batchDelay is how long an event waits for others to be written with it. To wake the
	// writer for each event would cost the requests CPU time.
	batchDelay = 10 * time.Millisecond
)

// queue is one of the two kinds of events.
type queue int

const (
	queueAllowed queue = iota
	queueDenied
	queueCount
)

// Audit writes events as JSON lines. It is safe for concurrent use.
//
// An event is written within 10 ms, in a batch with later ones. A crash may lose a batch.
// A shutdown writes the queues.
//
// Events of allowed and of denied requests have separate queues. They are written in order,
// unless the queue of allowed requests is half full: then that goes first. So a flood of
// denials hides no allowed request. If its queue is full, the event of a denial is dropped at
// once. An allowed request waits for up to a second for a place. After one has waited in
// vain, others do not wait until an event is written again: a blocked log delays no request
// for long. Metrics count dropped events.
type Audit struct {
	waiting [queueCount]chan queuedEvent
	// sequence counts the events.
	sequence atomic.Uint64
	// flushSignal ends batchDelay early, before a queue is full.
	flushSignal chan struct{}
	// stuck is true after a request has waited in vain.
	stuck atomic.Bool

	// first is the next event of each queue, if the writer has taken it already.
	first [queueCount]*queuedEvent

	out     io.Writer
	encoder *json.Encoder
	// batch has so many lines.
	batch bytes.Buffer
	lines int
	// acks receive the result of writing the batch.
	acks []chan<- error

	droppedAllowed, droppedDenied, droppedWrite metrics.CounterMetric
}

// queuedEvent is an event with its place in the order of all.
type queuedEvent struct {
	AuditEvent
	number uint64
	// written, if not nil, receives one result. It has a buffer for it.
	written chan<- error
}

// NewAudit writes to out while [Audit.Run] runs. Without out, nothing is written.
func NewAudit(out io.Writer, registry metrics.KubeRegistry) *Audit {
	lost := metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "bulkhead_audit_lines_dropped_total",
		Help: "Audit events that were dropped, by reason: passed (allowed request, no place in the queue within a second), " +
			"refused (denied request, full queue), write (error of the log).",
	}, []string{"reason"})
	registry.MustRegister(lost)
	a := &Audit{
		out:            out,
		droppedAllowed: lost.WithLabelValues("passed"),
		droppedDenied:  lost.WithLabelValues("refused"),
		droppedWrite:   lost.WithLabelValues("write"),
	}
	if out != nil {
		a.waiting = [queueCount]chan queuedEvent{
			queueAllowed: make(chan queuedEvent, allowedEvents), queueDenied: make(chan queuedEvent, deniedEvents),
		}
		a.flushSignal = make(chan struct{}, 1)
		a.encoder = json.NewEncoder(&a.batch)
		a.encoder.SetEscapeHTML(false)
	}
	return a
}

// put adds an event to its queue. Only an allowed request waits for a place.
func (a *Audit) put(event *AuditEvent, allowed bool) {
	if a.out == nil {
		return
	}
	one := queuedEvent{AuditEvent: event.clone(), number: a.sequence.Add(1)}
	if allowed {
		a.putAllowed(one)
		return
	}
	select {
	case a.waiting[queueDenied] <- one:
		a.flushIfFull(queueDenied)
	default:
		a.droppedDenied.Inc()
	}
}

func (a *Audit) putAllowed(event queuedEvent) {
	select {
	case a.waiting[queueAllowed] <- event:
		a.flushIfFull(queueAllowed)
		return
	default:
	}
	if a.stuck.Load() {
		a.droppedAllowed.Inc()
		return
	}
	timer := time.NewTimer(auditTimeout)
	defer timer.Stop()
	select {
	case a.waiting[queueAllowed] <- event:
	case <-timer.C:
		a.stuck.Store(true)
		a.droppedAllowed.Inc()
	}
}

// halfFull reports whether a queue is at least half full.
func (a *Audit) halfFull(of queue) bool { return len(a.waiting[of]) >= cap(a.waiting[of])/2 }

// flushIfFull ends batchDelay if the queue is half full.
func (a *Audit) flushIfFull(of queue) {
	if a.halfFull(of) {
		a.flushNow()
	}
}

func (a *Audit) flushNow() {
	select {
	case a.flushSignal <- struct{}{}:
	default:
		// The signal is pending already.
	}
}

// record writes an event, and returns true once it is written. It waits for up to a second.
// After a request has waited in vain, others do not wait until an event is written again. An
// event may still be written after record has returned false.
func (a *Audit) record(event *AuditEvent) bool {
	if a.out == nil || a.stuck.Load() {
		return false
	}
	written := make(chan error, 1)
	timer := time.NewTimer(auditTimeout)
	defer timer.Stop()
	select {
	case a.waiting[queueAllowed] <- queuedEvent{AuditEvent: event.clone(), number: a.sequence.Add(1), written: written}:
	case <-timer.C:
		a.stuck.Store(true)
		return false
	}
	a.flushNow()
	select {
	case err := <-written:
		return err == nil
	case <-timer.C:
		a.stuck.Store(true)
		return false
	}
}

// record is rule KA-AUDIT-1: the event of an allowed request is written before the request
// is forwarded.
func (h *Handler) record(rc *requestContext) *response {
	if h.recording == rules.Off {
		return nil
	}
	rc.event.Stage = stageBegin
	rc.update()
	rc.recorded = h.config.Audit.record(&rc.event)
	rc.event.Stage = stageRequest
	switch {
	case rc.recorded:
		return nil
	case h.recording == rules.Audit:
		rc.addFinding(kubeletauth.RuleAuditLog)
		return nil
	}
	return deny(http.StatusServiceUnavailable, kubeletauth.RuleAuditLog,
		"Service unavailable: the audit log cannot be written")
}
