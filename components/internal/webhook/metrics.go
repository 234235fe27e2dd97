// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Other replaces every label value that a user could invent.
const Other = "other"

// Metrics are the metrics that every webhook has, with the same names.
type Metrics struct {
	// Unlogged counts denials without a log line.
	Unlogged *metrics.Counter
	// InFlight is the number of requests that are being decided.
	InFlight *metrics.Gauge

	limits *metrics.CounterVec
	audits *metrics.CounterVec
	rules  map[rules.ID]struct{}
}

// NewMetrics creates and registers the metrics. Their rule label has only the rules in cited.
func NewMetrics(registry metrics.KubeRegistry, cited []rules.Rule) *Metrics {
	return NewMetricsOf(registry, cited, nil)
}

// NewMetricsOf is NewMetrics with labels, for a program that has two webhooks. Each needs its own
// registry.
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

// Limited counts a request that exceeds a limit.
func (m *Metrics) Limited(by Excess) {
	m.limits.WithLabelValues(string(by)).Inc()
}

// Audited counts a finding. resource and verb must be label values already.
func (m *Metrics) Audited(rule rules.ID, resource, verb string) {
	m.audits.WithLabelValues(m.RuleLabel(rule), resource, verb).Inc()
}

// RuleLabel returns the label value for a rule. It is Other for a rule that is not in cited.
func (m *Metrics) RuleLabel(id rules.ID) string {
	if id == "" {
		return "none"
	}
	if _, known := m.rules[id]; !known {
		return Other
	}
	return string(id)
}

// ResourceLabel names the resources that nodes request or may try to request.
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
