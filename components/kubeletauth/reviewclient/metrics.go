// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"time"

	"k8s.io/component-base/metrics"
)

// recorder counts answers by where they came from, and reviews by how they ended.
type recorder struct {
	cached, shared, first, refused metrics.CounterMetric

	answered, failed, busy metrics.CounterMetric

	duration *metrics.Histogram
}

// gauges are read when metrics are.
type gauges struct{ inFlight, waiting, entries, bytes func() float64 }

func newRecorder(name string, registry metrics.KubeRegistry, g gauges) *recorder {
	prefix := "bulkhead_kubelet_" + name + "_"
	answers := metrics.NewCounterVec(&metrics.CounterOpts{
		Name: prefix + "answers_total",
		Help: "Questions, by where the answer came from: cache, shared (with a review in the air), review, refused (a " +
			"limit forbade the review).",
	}, []string{"source"})
	reviews := metrics.NewCounterVec(&metrics.CounterOpts{
		Name: prefix + "reviews_total",
		Help: "Reviews asked of the API server, each attempt by its outcome: answered, failed, not-sent (too many wait, or " +
			"the caller went away).",
	}, []string{"outcome"})
	duration := metrics.NewHistogram(&metrics.HistogramOpts{
		Name:    prefix + "review_duration_seconds",
		Help:    "Time that the API server took for one review, without the time in line before it.",
		Buckets: metrics.ExponentialBuckets(0.001, 2, 14),
	})
	registry.MustRegister(answers, reviews, duration)
	registry.RawMustRegister(
		gauge(prefix+"reviews_in_flight", "Reviews in the air now.", g.inFlight),
		gauge(prefix+"reviews_waiting", "Reviews that wait for their turn now.", g.waiting),
		gauge(prefix+"held_answers", "Answers in the cache, with those whose time is over.", g.entries),
		gauge(prefix+"held_bytes", "About what the answers in the cache take.", g.bytes),
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
