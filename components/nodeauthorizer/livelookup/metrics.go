// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
)

// recorder counts reads. Its label "relation" is the resource that was read.
type recorder struct {
	reads    *metrics.CounterVec
	duration *metrics.HistogramVec
	waiting  *metrics.Gauge
	refusals *metrics.CounterVec
	found    *metrics.CounterVec
}

func newRecorder(registry metrics.KubeRegistry) *recorder {
	r := &recorder{
		reads: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_live_reads_total",
			Help: "Reads from the API server before a refusal, by resource and outcome (ok, not-found, no-answer, failed, " +
				"too-many, incomparable).",
		}, []string{"relation", "outcome"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:    "bulkhead_live_read_duration_seconds",
			Help:    "Time that the API server took to answer a live read, without the time in line before it.",
			Buckets: metrics.ExponentialBuckets(0.001, 2, 11),
		}, []string{"relation"}),
		waiting: metrics.NewGauge(&metrics.GaugeOpts{
			Name: "bulkhead_live_read_waiting",
			Help: "Requests that wait for a live read now.",
		}),
		refusals: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_live_reads_refused_total",
			Help: "Requests for which nothing could be confirmed by a live read, by reason.",
		}, []string{"reason"}),
		found: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_live_read_found_total",
			Help: "Live reads that returned something which the watch had yet to show, by resource.",
		}, []string{"relation"}),
	}
	registry.MustRegister(r.reads, r.duration, r.waiting, r.refusals, r.found)
	return r
}

func (r *recorder) read(resource, outcome string, took time.Duration) {
	r.reads.WithLabelValues(resource, outcome).Inc()
	r.duration.WithLabelValues(resource).Observe(took.Seconds())
}

func (r *recorder) refused(short shortfall) {
	r.refusals.WithLabelValues(string(short)).Inc()
}

// shortfall is why a live read could not confirm the view. It is also the value of a metric label.
type shortfall string

const (
	// none: the view is at least as new as the question.
	none shortfall = ""
	// nodeBudget and getBudget: too many callers for this node wait already.
	nodeBudget shortfall = "node-budget"
	getBudget  shortfall = "node-get-budget"
	// noTurn: the read did not begin in time.
	noTurn shortfall = "no-turn"
	// noAnswer: the read began, but the API server did not answer in time.
	noAnswer shortfall = "no-answer"
	// failed: the API server answered with an error, or the read panicked.
	failed shortfall = "failed"
	// tooMany: the node has more pods than the limit of a list.
	tooMany shortfall = "too-many"
	// incomparable: the view could not compare the result with its own state.
	incomparable shortfall = "incomparable"
	// withdrawn: the caller's context ended first.
	withdrawn shortfall = "withdrawn"
)

// text is the message for the caller. It contains no text from the request or from the API server.
func (s shortfall) text() string {
	switch s {
	case none:
		return ""
	case nodeBudget, getBudget:
		return "not confirmed by a live read: the node's budget of reads is spent"
	case noTurn:
		return "not confirmed by a live read: the budget of reads is spent"
	case noAnswer:
		return "not confirmed by a live read: the API server did not answer in time"
	case failed:
		return "not confirmed by a live read: the API server answered with an error"
	case tooMany:
		return "not confirmed by a live read: the node has too many pods"
	case incomparable:
		return "not confirmed by a live read: its answer could not be compared with the view"
	default:
		return "not confirmed by a live read: the request was given up"
	}
}

// outcome is the metric label for the result of a read.
func (s shortfall) outcome() string {
	if s == none {
		return "ok"
	}
	return string(s)
}

const (
	// quiet is the minimum time between two log lines.
	quiet = 10 * time.Second
	// maxComplaint is the maximum length, in bytes, of the logged part of an error.
	maxComplaint = 256
)

// complaints logs reads that failed. Every user that can name a node in a request can cause such
// failures. So log lines are rate-limited, short and without line breaks. A log that blocks does
// not block a read.
type complaints struct {
	// next is the earliest time of the next line, in nanoseconds. busy is true while a line is
	// being written.
	next atomic.Int64
	busy atomic.Bool
}

func (c *complaints) about(ctx context.Context, resource string, err error) {
	now := time.Now()
	next := c.next.Load()
	if now.UnixNano() < next || !c.next.CompareAndSwap(next, now.Add(quiet).UnixNano()) ||
		!c.busy.CompareAndSwap(false, true) {
		return
	}
	text := loggable(err)
	go func() {
		defer c.busy.Store(false)
		klog.FromContext(ctx).Error(nil, "A live read failed; others of the next ten seconds are not logged", "resource",
			resource, "cause", text)
	}()
}

func loggable(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text[:min(len(text), maxComplaint)])
	return text
}
