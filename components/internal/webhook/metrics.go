// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"slices"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditfindings"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Other replaces every label value that a user could invent.
const Other = "other"

// MetricNames are the names and labels of the metrics that differ between the kinds of review.
type MetricNames struct {
	// Prefix starts the name of every metric of this type: "bulkhead_authorization".
	Prefix string
	// Decisions is the rest of the name of the counter of decisions. DecisionsHelp describes it.
	Decisions, DecisionsHelp string
	// Labels are the labels of that counter, without "rule" and "decision".
	Labels []string
	// DurationHelp and PanicsHelp describe the duration of a decision and the counter of panics.
	DurationHelp, PanicsHelp string
}

// Labels describes a request for metrics. Each value must be one of a fixed set.
type Labels struct {
	// Values are the values of [MetricNames].Labels.
	Values []string
	// Resource and Verb are the labels of findings.
	Resource, Verb string
}

// Metrics are the metrics of a handler. Their labels have a bounded number of values, whatever users
// request.
type Metrics struct {
	// Unlogged counts denials without a log line.
	Unlogged *metrics.Counter
	// InFlight is the number of requests that are being decided.
	InFlight *metrics.Gauge
	// Panics counts requests that were denied because the policy panicked.
	Panics *metrics.Counter

	limits, audits, decisions, unreadable *metrics.CounterVec
	findings                              *auditfindings.Counter
	duration                              *metrics.HistogramVec
	requestLabels                         int
	rules                                 map[rules.ID]struct{}
}

// newMetrics creates and registers the metrics.
func newMetrics(config Config, names MetricNames) *Metrics {
	var labels map[string]string
	if config.Entry != "" {
		labels = map[string]string{"entry": config.Entry}
	}
	counter := func(name, help string) *metrics.CounterOpts {
		return &metrics.CounterOpts{Name: name, ConstLabels: labels, Help: help}
	}
	m := &Metrics{
		limits: metrics.NewCounterVec(counter("bulkhead_limited_requests_total",
			"Requests denied because of a bound, by bound."), []string{"reason"}),
		InFlight: metrics.NewGauge(&metrics.GaugeOpts{
			Name: "bulkhead_requests_in_flight", ConstLabels: labels, Help: "Requests being decided now.",
		}),
		Unlogged: metrics.NewCounter(counter("bulkhead_unlogged_refusals_total",
			"Denials and findings without a log line, because there were too many.")),
		audits: metrics.NewCounterVec(counter("bulkhead_audited_refusals_total",
			"Requests allowed that a rule in audit mode would have denied, by rule, resource and verb."),
			[]string{"rule", "resource", "verb"}),
		decisions: metrics.NewCounterVec(counter(names.Prefix+names.Decisions, names.DecisionsHelp),
			append(slices.Clone(names.Labels), "rule", "decision")),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name: names.Prefix + "_duration_seconds", ConstLabels: labels, Help: names.DurationHelp,
			Buckets: metrics.ExponentialBuckets(1e-6, 4, 12),
		}, []string{"decision"}),
		Panics: metrics.NewCounter(counter(names.Prefix+"_panics_total", names.PanicsHelp)),
		unreadable: metrics.NewCounterVec(counter(names.Prefix+"_unreadable_reviews_total",
			"Requests that are not a review, answered with a 4xx, by result (not-a-review: another method or "+
				"content type, broken-off: the body ended early, undecodable: another kind or version of review, no-uid: "+
				"too large, without a uid to answer). kube-apiserver sends none."), []string{"result"}),
		requestLabels: len(names.Labels),
		findings:      auditfindings.NewCounter(config.Registry, labels),
		rules:         make(map[rules.ID]struct{}, len(config.Rules)),
	}
	for _, rule := range config.Rules {
		m.rules[rule.ID] = struct{}{}
	}
	config.Registry.MustRegister(m.limits, m.InFlight, m.Unlogged, m.audits, m.decisions, m.duration, m.Panics,
		m.unreadable)
	return m
}

// decided counts a decision. took is the time that it took.
func (m *Metrics) decided(labels Labels, d rules.Decision, took time.Duration) {
	m.count(labels.Values, d)
	m.duration.WithLabelValues(d.Effect.String()).Observe(took.Seconds())
}

// deniedUnread counts a review that was denied before it was read. Its labels are unknown.
func (m *Metrics) deniedUnread(d rules.Decision) {
	m.count(slices.Repeat([]string{Other}, m.requestLabels), d)
}

func (m *Metrics) count(request []string, d rules.Decision) {
	values := append(make([]string, 0, len(request)+2), request...)
	m.decisions.WithLabelValues(append(values, m.RuleLabel(d.Rule), d.Effect.String())...).Inc()
}

// limited counts a request that exceeds a limit.
func (m *Metrics) limited(by Excess) { m.limits.WithLabelValues(string(by)).Inc() }

// audited counts a finding.
func (m *Metrics) audited(rule rules.ID, labels Labels, user string) {
	m.findings.Count(m.RuleLabel(rule), Loggable(user))
	m.audits.WithLabelValues(m.RuleLabel(rule), labels.Resource, labels.Verb).Inc()
}

// RuleLabel returns the label value for a rule. It is Other for a rule that Config.Rules does not list.
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
