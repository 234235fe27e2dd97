// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"time"

	"k8s.io/component-base/metrics"
)

// remembered is the outcome of a lookup that was answered from a cache.
const remembered = "remembered"

// recorder holds the metrics of lookups.
type recorder struct {
	lookups  *metrics.CounterVec
	duration *metrics.HistogramVec
	tallied  *metrics.Gauge
}

func newRecorder(registry metrics.KubeRegistry) *recorder {
	r := &recorder{
		lookups: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_lookups_total",
			Help: "Calls of the API server to decide on a write, by kind and outcome (ok, not-found, no-answer, withdrawn, " +
				"failed), and answers without a call (remembered).",
		}, []string{"kind", "outcome"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:    "bulkhead_lookup_duration_seconds",
			Help:    "Time that the API server took to answer a lookup, all its pages together.",
			Buckets: metrics.ExponentialBuckets(0.001, 2, 11),
		}, []string{"kind"}),
	}
	r.tallied = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "bulkhead_signing_requests_counted_timestamp_seconds",
		Help: "When the certificate signing requests of all nodes were last counted, as seconds since 1970; 0 if that was " +
			"never.",
	})
	registry.MustRegister(r.lookups, r.duration, r.tallied)
	return r
}

func (r *recorder) lookedUp(kind, outcome string, took time.Duration) {
	r.lookups.WithLabelValues(kind, outcome).Inc()
	r.duration.WithLabelValues(kind).Observe(took.Seconds())
}

func (r *recorder) remembered(kind string) {
	r.lookups.WithLabelValues(kind, remembered).Inc()
}
