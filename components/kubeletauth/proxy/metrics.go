// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditfindings"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// recorder has the metrics of a handler. Every label has few values.
type recorder struct {
	requests  *metrics.CounterVec
	audited   *metrics.CounterVec
	findings  *auditfindings.Counter
	deciding  *metrics.Histogram
	streams   *metrics.GaugeVec
	rechecks  *metrics.CounterVec
	failures  *metrics.CounterVec
	bytes     *metrics.CounterVec
	in, out   metrics.CounterMetric
	rules     map[rules.ID]struct{}
	decisions map[outcome]metrics.CounterMetric
}

// outcome is a pair of labels.
type outcome struct {
	rule     rules.ID
	decision string
}

func newRecorder(registry metrics.KubeRegistry, cited []rules.Rule) *recorder {
	m := &recorder{
		requests: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_kubelet_requests_total",
			Help: "Requests to the kubelet's API, by the rule that decided and by decision.",
		}, []string{"rule", "decision"}),
		audited: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_audited_refusals_total",
			Help: "Requests allowed that a rule in audit mode would have denied, by rule.",
		}, []string{"rule"}),
		deciding: metrics.NewHistogram(&metrics.HistogramOpts{
			Name: "bulkhead_kubelet_decision_duration_seconds", Help: "Time until a request was allowed or denied.",
			Buckets: metrics.ExponentialBuckets(0.00001, 4, 11),
		}),
		streams: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name: "bulkhead_kubelet_streams", Help: "Open streams, by subresource.",
		}, []string{"subresource"}),
		rechecks: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_kubelet_stream_rechecks_total",
			Help: "Rechecks of access to streams, by outcome.",
		}, []string{"outcome"}),
		failures: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_kubelet_upstream_failures_total",
			Help: "Requests without an answer of the kubelet that may be forwarded, by reason.",
		}, []string{"reason"}),
		bytes: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_kubelet_bytes_total", Help: "Bytes of bodies and streams, by direction as the client sees it.",
		}, []string{"direction"}),
		findings:  auditfindings.NewCounter(registry, nil),
		rules:     make(map[rules.ID]struct{}, len(cited)),
		decisions: map[outcome]metrics.CounterMetric{},
	}
	registry.MustRegister(m.requests, m.audited, m.deciding, m.streams, m.rechecks, m.failures, m.bytes)
	m.in, m.out = m.bytes.WithLabelValues("in"), m.bytes.WithLabelValues("out")
	for _, rule := range cited {
		m.rules[rule.ID] = struct{}{}
		for _, decision := range []string{allowed, denied, undecided} {
			m.decisions[outcome{rule.ID, decision}] = m.requests.WithLabelValues(string(rule.ID), decision)
		}
	}
	return m
}

func (m *recorder) label(id rules.ID) string {
	if _, known := m.rules[id]; known {
		return string(id)
	}
	return webhook.Other
}

func (m *recorder) decided(id rules.ID, decision string, took time.Duration) {
	m.deciding.Observe(took.Seconds())
	if counter, ok := m.decisions[outcome{id, decision}]; ok {
		counter.Inc()
		return
	}
	m.requests.WithLabelValues(m.label(id), decision).Inc()
}

func (m *recorder) addBytes(in, out int64) {
	if in > 0 {
		m.in.Add(float64(in))
	}
	if out > 0 {
		m.out.Add(float64(out))
	}
}
