// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"strings"
	"time"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// recorder counts reviews. Its labels have a bounded number of values, whatever users write.
type recorder struct {
	*webhook.Metrics
	reviews  *metrics.CounterVec
	duration *metrics.HistogramVec
	panics   *metrics.Counter
	unread   *metrics.CounterVec
}

func newRecorder(registry metrics.KubeRegistry, cited []rules.Rule, entry string) *recorder {
	var labels map[string]string
	if entry != "" {
		labels = map[string]string{"entry": entry}
	}
	r := &recorder{
		Metrics: webhook.NewMetricsOf(registry, cited, labels),
		reviews: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:        "bulkhead_admission_reviews_total",
			ConstLabels: labels,
			Help:        "Writes reviewed, by resource, subresource, operation, rule and decision (allow, deny).",
		}, []string{"resource", "subresource", "operation", "rule", "decision"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:        "bulkhead_admission_duration_seconds",
			ConstLabels: labels,
			Help: "Time to decode the objects of one write and to decide on it, without reading the review and writing " +
				"the answer.",
			Buckets: metrics.ExponentialBuckets(1e-6, 4, 12),
		}, []string{"decision"}),
		panics: metrics.NewCounter(&metrics.CounterOpts{
			Name:        "bulkhead_admission_panics_total",
			ConstLabels: labels,
			Help:        "Writes refused because deciding on them panicked. Each is a bug.",
		}),
	}
	r.unread = metrics.NewCounterVec(&metrics.CounterOpts{
		Name:        "bulkhead_admission_unreadable_reviews_total",
		ConstLabels: labels,
		Help: "Requests that are no review anybody could decide on, and were answered with a 4xx, by result (" +
			"not-a-review: another method or content type, broken-off: the body did not come to its end, undecodable: no " +
			"AdmissionReview v1, no-uid: nobody to answer). kube-apiserver sends none.",
	}, []string{"result"})
	registry.MustRegister(r.reviews, r.duration, r.panics, r.unread)
	return r
}

func (r *recorder) decided(q *request, answer rules.Decision, took time.Duration) {
	decision := effectOf(answer)
	r.reviews.WithLabelValues(webhook.ResourceLabel(q.Resource.Resource), subresourceLabel(q.SubResource),
		operationLabel(q.Operation), r.RuleLabel(answer.Rule), decision).Inc()
	r.duration.WithLabelValues(decision).Observe(took.Seconds())
}

// refusedUnread counts a review that was denied before it was read. Its attributes are unknown.
func (r *recorder) refusedUnread(answer rules.Decision) {
	r.reviews.WithLabelValues(webhook.Other, webhook.Other, webhook.Other, r.RuleLabel(answer.Rule),
		effectOf(answer)).Inc()
}

// audited uses the same verbs as the authorizer's metric.
func (r *recorder) audited(rule rules.ID, q *request) {
	r.Audited(rule, webhook.ResourceLabel(q.Resource.Resource), strings.ToLower(operationLabel(q.Operation)))
}

func operationLabel(operation admission.Operation) string {
	switch operation {
	case admission.Create, admission.Update, admission.Delete, admission.Connect:
		return string(operation)
	default:
		return webhook.Other
	}
}

// subresourceLabel names the subresources that nodes write or may try to write.
func subresourceLabel(subresource string) string {
	switch subresource {
	case "", "approval", "attach", "binding", "ephemeralcontainers", "eviction", "exec", "portforward", "proxy",
		"resize", "status", "token":
		return subresource
	default:
		return webhook.Other
	}
}
