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
	// batchDelay is how long the writer waits for more events before it writes a batch. A write for
	// each event would cost the requests CPU time.
	batchDelay = 10 * time.Millisecond
)

// queue is one of the two queues of events.
type queue int

const (
	queueAllowed queue = iota
	queueDenied
	queueCount
)

// Audit writes events as JSON lines. It is safe for concurrent use.
//
// An event is written within 10 ms, in a batch with later ones. A crash may lose a batch. At
// shutdown the queues are written.
//
// Events of allowed and of denied requests have separate queues. They are written in order. But if
// the queue of allowed requests is half full, it is written first. So a flood of denials cannot
// displace the event of an allowed request. If the queue of denied requests is full, their events
// are dropped at once. An allowed request waits for up to a second for a place in its queue. If the
// wait times out, later requests do not wait until an event is written again. So a blocked log
// delays few requests. Metrics count dropped events.
type Audit struct {
	waiting [queueCount]chan queuedEvent
	// sequence numbers the events.
	sequence atomic.Uint64
	// flushSignal ends batchDelay early, before a queue is full.
	flushSignal chan struct{}
	// stuck is true after a request's wait has timed out, until the writer encodes or writes an
	// event again.
	stuck atomic.Bool

	// first is the next event of each queue, if the writer has already taken it.
	first [queueCount]*queuedEvent

	out     io.Writer
	encoder *json.Encoder
	// batch contains the lines of the next write, and lines is their number.
	batch bytes.Buffer
	lines int
	// acks receive the result of the write.
	acks []chan<- error

	droppedAllowed, droppedDenied, droppedWrite metrics.CounterMetric
}

// queuedEvent is an event with its number in the order of all events.
type queuedEvent struct {
	AuditEvent
	number uint64
	// written, if not nil, receives one result. The channel is buffered, so the writer never blocks
	// on it.
	written chan<- error
}

// NewAudit returns an Audit that writes to out while [Audit.Run] runs. If out is nil, nothing is
// written.
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

// put adds an event to its queue. It waits for a place only if the request is allowed.
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

// record writes an event. It returns true once the event is written, and waits for up to a second.
// After a wait has timed out, later requests do not wait until an event is written again. An event
// may still be written after record has returned false.
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
	}
	// On a busy machine, both may be ready.
	select {
	case err := <-written:
		return err == nil
	default:
		a.stuck.Store(true)
		return false
	}
}

// record enforces rule KA-AUDIT-1: the event of an allowed request is written before the request is
// forwarded.
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
