// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"time"

	"k8s.io/component-base/metrics"
)

// recorder counts answers by source, and reviews by outcome.
type recorder struct {
	cached, shared, first, refused metrics.CounterMetric

	answered, failed, busy metrics.CounterMetric

	duration *metrics.Histogram
}

// gauges are read when metrics are collected.
type gauges struct{ inFlight, waiting, entries, bytes func() float64 }

func newRecorder(name string, registry metrics.KubeRegistry, g gauges) *recorder {
	prefix := "bulkhead_kubelet_" + name + "_"
	answers := metrics.NewCounterVec(&metrics.CounterOpts{
		Name: prefix + "answers_total",
		Help: "Queries, by the source of the answer: cache, shared (a review in flight), review, refused (a limit denied " +
			"the review).",
	}, []string{"source"})
	reviews := metrics.NewCounterVec(&metrics.CounterOpts{
		Name: prefix + "reviews_total",
		Help: "Attempts of reviews at the API server, by outcome: answered, failed, not-sent (the queue was full, or the " +
			"callers were gone).",
	}, []string{"outcome"})
	duration := metrics.NewHistogram(&metrics.HistogramOpts{
		Name:    prefix + "review_duration_seconds",
		Help:    "Duration of one review at the API server, without the time in the queue.",
		Buckets: metrics.ExponentialBuckets(0.001, 2, 14),
	})
	registry.MustRegister(answers, reviews, duration)
	registry.RawMustRegister(
		gauge(prefix+"reviews_in_flight", "Reviews in flight.", g.inFlight),
		gauge(prefix+"reviews_waiting", "Reviews in the queue.", g.waiting),
		gauge(prefix+"held_answers", "Answers in the cache, also expired ones.", g.entries),
		gauge(prefix+"held_bytes", "Estimated size of the cache in bytes.", g.bytes),
	)
	return &recorder{
		cached: answers.WithLabelValues("cache"), shared: answers.WithLabelValues("shared"),
		first: answers.WithLabelValues("review"), refused: answers.WithLabelValues("refused"),
		answered: reviews.WithLabelValues("answered"), failed: reviews.WithLabelValues("failed"),
		busy:     reviews.WithLabelValues("not-sent"),
		duration: duration,
	}
}

func gauge(name, help string, read func() float64) metrics.GaugeFunc {
	return metrics.NewGaugeFunc(&metrics.GaugeOpts{Name: name, Help: help}, read)
}

func (r *recorder) asked(err error, took time.Duration) {
	r.duration.Observe(took.Seconds())
	if err != nil {
		r.failed.Inc()
		return
	}
	r.answered.Inc()
}
