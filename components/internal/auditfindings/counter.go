// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package auditfindings is how the components report findings, and how `bulkhead audit` recognizes
// them: a metric, a log message and an annotation of the API server's audit events.
package auditfindings

import (
	"sync"

	"k8s.io/component-base/metrics"
)

const (
	// MetricName is the counter of findings by rule and user.
	MetricName = "bulkhead_audit_findings_total"
	// LogMessage is the message of the log line of a finding. Its first words are those of the
	// in-tree Node authorizer.
	LogMessage = "NODE DENY, not enforced"
	// AnnotationName is the key of the annotation of an audit event, without its prefix. Its value
	// has the text of each finding, followed by the rule in brackets.
	AnnotationName = "would-refuse"
	// Separator is between the findings of an annotation.
	Separator = "; "
	// OtherUsers is the user of findings that the metric does not count by user.
	OtherUsers = "other"
	// maxPairs bounds the pairs of rule and user that the metric counts. A client can invent users.
	maxPairs = 2000
)

// Counter counts findings by rule and user. It is safe for concurrent use.
type Counter struct {
	vec   *metrics.CounterVec
	mu    sync.Mutex
	known map[pair]struct{}
}

type pair struct{ rule, user string }

// NewCounter creates a counter and registers its metric. The labels are constant and may be nil.
func NewCounter(registry metrics.KubeRegistry, labels map[string]string) *Counter {
	c := &Counter{
		vec: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: MetricName, ConstLabels: labels,
			Help: "Requests that a rule in audit mode would have denied, by rule and user. After 2000 pairs of rule and " +
				"user, new users are counted as other.",
		}, []string{"rule", "user"}),
		known: map[pair]struct{}{},
	}
	registry.MustRegister(c.vec)
	return c
}

// Count counts one finding. Each rule must be one of a fixed set. The user may be any text that is
// valid UTF-8.
func (c *Counter) Count(rule, user string) {
	if !c.counts(pair{rule, user}) {
		user = OtherUsers
	}
	c.vec.WithLabelValues(rule, user).Inc()
}

// counts reports whether the pair has a counter of its own. The first pairs get one.
func (c *Counter) counts(p pair) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.known[p]; known {
		return true
	}
	if len(c.known) >= maxPairs {
		return false
	}
	c.known[p] = struct{}{}
	return true
}
