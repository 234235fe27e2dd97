// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package liveread

import (
	"time"

	"k8s.io/component-base/metrics"
)

// recorder counts reads. The relation is the resource that was read.
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
