// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// other stands for every label value that a request could make up.
const other = "other"

// recorder counts decisions. Its labels take a bounded number of values, whatever
// is asked.
type recorder struct {
	decisions *metrics.CounterVec
	duration  *metrics.HistogramVec
	limits    *metrics.CounterVec
	inFlight  *metrics.Gauge
	panics    *metrics.Counter
	unlogged  *metrics.Counter
	rules     map[rules.ID]struct{}
}

func newRecorder(registry metrics.KubeRegistry, cited []rules.Rule) *recorder {
	r := &recorder{
		decisions: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_authorization_decisions_total",
			Help: "Requests decided, by resource, verb, rule and decision (allow, deny, no-opinion).",
		}, []string{"resource", "verb", "rule", "decision"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:    "bulkhead_authorization_duration_seconds",
			Help:    "Time to decide one request, without reading it and writing the answer.",
			Buckets: metrics.ExponentialBuckets(1e-6, 4, 12),
		}, []string{"decision"}),
		limits: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_limited_requests_total",
			Help: "Requests denied because of a bound, by bound.",
		}, []string{"reason"}),
		inFlight: metrics.NewGauge(&metrics.GaugeOpts{
			Name: "bulkhead_requests_in_flight",
			Help: "Requests being decided now.",
		}),
		panics: metrics.NewCounter(&metrics.CounterOpts{
			Name: "bulkhead_authorization_panics_total",
			Help: "Requests denied because deciding them panicked. Each is a bug.",
		}),
		unlogged: metrics.NewCounter(&metrics.CounterOpts{
			Name: "bulkhead_unlogged_refusals_total",
			Help: "Refusals without a line in the log, because there were too many.",
		}),
		rules: make(map[rules.ID]struct{}, len(cited)),
	}
	for _, rule := range cited {
		r.rules[rule.ID] = struct{}{}
	}
	registry.MustRegister(r.decisions, r.duration, r.limits, r.inFlight, r.panics, r.unlogged)
	return r
}

func (r *recorder) decided(a authorizer.Attributes, answer status, took time.Duration) {
	decision := answer.decision()
	r.decisions.WithLabelValues(resourceLabel(a), verbLabel(a.GetVerb()), r.ruleLabel(answer.Reason), decision).Inc()
	r.duration.WithLabelValues(decision).Observe(took.Seconds())
}

// refusedUnread counts a review of which nothing is known but that it is too large.
func (r *recorder) refusedUnread(answer status) {
	r.decisions.WithLabelValues(other, other, r.ruleLabel(answer.Reason), answer.decision()).Inc()
}

func (r *recorder) limited(by excess) {
	r.limits.WithLabelValues(string(by)).Inc()
}

func (r *recorder) ruleLabel(reason string) string {
	id, ok := rules.FromReason(reason)
	if !ok {
		return "none"
	}
	if _, known := r.rules[id]; !known {
		return other
	}
	return string(id)
}

func verbLabel(verb string) string {
	switch verb {
	case "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection":
		return verb
	default:
		return other
	}
}

// resourceLabel names the resources that nodes ask for, or may try to.
func resourceLabel(a authorizer.Attributes) string {
	if !a.IsResourceRequest() {
		return "non-resource"
	}
	switch resource := a.GetResource(); resource {
	case "certificatesigningrequests", "clustertrustbundles", "configmaps", "csidrivers", "csinodes", "endpoints",
		"events", "leases", "localsubjectaccessreviews", "namespaces", "nodes", "persistentvolumeclaims",
		"persistentvolumes", "podcertificaterequests", "pods", "resourceclaims", "resourceslices", "runtimeclasses",
		"secrets", "selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews", "serviceaccounts",
		"services", "subjectaccessreviews", "tokenreviews", "volumeattachments":
		return resource
	default:
		return other
	}
}
