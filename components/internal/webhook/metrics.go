// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Other stands for every label value that a request could make up.
const Other = "other"

// Metrics are those that every webhook has, by the same names.
type Metrics struct {
	// Unlogged counts refusals without a line in the log.
	Unlogged *metrics.Counter
	// InFlight is the number of requests being decided.
	InFlight *metrics.Gauge

	limits *metrics.CounterVec
	audits *metrics.CounterVec
	rules  map[rules.ID]struct{}
}

// NewMetrics makes the metrics and registers them. They name the rules that are
// cited, and no others.
func NewMetrics(registry metrics.KubeRegistry, cited []rules.Rule) *Metrics {
	return NewMetricsOf(registry, cited, nil)
}

// NewMetricsOf is NewMetrics with labels, for a program that has two webhooks. Each
// needs a registry of its own.
func NewMetricsOf(registry metrics.KubeRegistry, cited []rules.Rule, labels map[string]string) *Metrics {
	m := &Metrics{
		limits: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:        "bulkhead_limited_requests_total",
			ConstLabels: labels,
			Help:        "Requests denied because of a bound, by bound.",
		}, []string{"reason"}),
		InFlight: metrics.NewGauge(&metrics.GaugeOpts{
			Name:        "bulkhead_requests_in_flight",
			ConstLabels: labels,
			Help:        "Requests being decided now.",
		}),
		Unlogged: metrics.NewCounter(&metrics.CounterOpts{
			Name:        "bulkhead_unlogged_refusals_total",
			ConstLabels: labels,
			Help:        "Refusals, audited ones among them, without a line in the log, because there were too many.",
		}),
		audits: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:        "bulkhead_audited_refusals_total",
			ConstLabels: labels,
			Help:        "Requests allowed that a rule in audit would have refused, by rule, resource and verb.",
		}, []string{"rule", "resource", "verb"}),
		rules: make(map[rules.ID]struct{}, len(cited)),
	}
	for _, rule := range cited {
		m.rules[rule.ID] = struct{}{}
	}
	registry.MustRegister(m.limits, m.InFlight, m.Unlogged, m.audits)
	return m
}

// Limited counts a request over a bound.
func (m *Metrics) Limited(by Excess) {
	m.limits.WithLabelValues(string(by)).Inc()
}

// Audited counts a finding. Resource and verb have to be labels already.
func (m *Metrics) Audited(rule rules.ID, resource, verb string) {
	m.audits.WithLabelValues(m.RuleLabel(rule), resource, verb).Inc()
}

// RuleLabel names a rule that was listed.
func (m *Metrics) RuleLabel(id rules.ID) string {
	if id == "" {
		return "none"
	}
	if _, known := m.rules[id]; !known {
		return Other
	}
	return string(id)
}

// ResourceLabel names the resources that nodes ask for, or may try to.
func ResourceLabel(resource string) string {
	switch resource {
	case "certificatesigningrequests", "clustertrustbundles", "configmaps", "csidrivers", "csinodes", "endpoints",
		"events", "leases", "localsubjectaccessreviews", "namespaces", "nodes", "persistentvolumeclaims",
		"persistentvolumes", "podcertificaterequests", "pods", "resourceclaims", "resourceslices", "runtimeclasses",
		"secrets", "selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews", "serviceaccounts",
		"services", "subjectaccessreviews", "tokenreviews", "volumeattachments":
		return resource
	default:
		return Other
	}
}
