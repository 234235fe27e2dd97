// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// recorder counts decisions. Its labels have a bounded number of values, whatever users request.
type recorder struct {
	*webhook.Metrics
	decisions *metrics.CounterVec
	duration  *metrics.HistogramVec
	panics    *metrics.Counter
}

// newRecorder creates the metrics. If entry is not empty, they have the label "entry".
func newRecorder(registry metrics.KubeRegistry, cited []rules.Rule, entry string) *recorder {
	var labels map[string]string
	if entry != "" {
		labels = map[string]string{"entry": entry}
	}
	r := &recorder{
		Metrics: webhook.NewMetricsOf(registry, cited, labels),
		decisions: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:        "bulkhead_authorization_decisions_total",
			ConstLabels: labels,
			Help:        "Requests decided, by resource, verb, rule and decision (allow, deny, no-opinion).",
		}, []string{"resource", "verb", "rule", "decision"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:        "bulkhead_authorization_duration_seconds",
			ConstLabels: labels,
			Help:        "Time to decide one request, without reading it and writing the answer.",
			Buckets:     metrics.ExponentialBuckets(1e-6, 4, 12),
		}, []string{"decision"}),
		panics: metrics.NewCounter(&metrics.CounterOpts{
			Name:        "bulkhead_authorization_panics_total",
			ConstLabels: labels,
			Help:        "Requests denied because deciding them panicked. Each is a bug.",
		}),
	}
	registry.MustRegister(r.decisions, r.duration, r.panics)
	return r
}

func (r *recorder) decided(a authorizer.Attributes, d rules.Decision, took time.Duration) {
	decision := d.Effect.String()
	r.decisions.WithLabelValues(resourceLabel(a), verbLabel(a.GetVerb()), r.RuleLabel(d.Rule), decision).Inc()
	r.duration.WithLabelValues(decision).Observe(took.Seconds())
}

// refusedUnread counts a review that is too large to read. Its attributes are unknown.
func (r *recorder) refusedUnread(d rules.Decision) {
	r.decisions.WithLabelValues(webhook.Other, webhook.Other, r.RuleLabel(d.Rule), d.Effect.String()).Inc()
}

func verbLabel(verb string) string {
	switch verb {
	case "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection":
		return verb
	default:
		return webhook.Other
	}
}

// resourceLabel names the resources that nodes request or may try to request.
func resourceLabel(a authorizer.Attributes) string {
	if !a.IsResourceRequest() {
		return "non-resource"
	}
	return webhook.ResourceLabel(a.GetResource())
}
