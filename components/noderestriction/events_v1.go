// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// event is what the rules read of an event of either API group.
type event struct {
	about    *corev1.ObjectReference
	related  *corev1.ObjectReference
	source   corev1.EventSource
	instance string
}

func eventOf(o runtime.Object) (event, bool) {
	if e, ok := typed[corev1.Event](o); ok {
		return event{&e.InvolvedObject, e.Related, e.Source, e.ReportingInstance}, true
	}
	if e, ok := typed[eventsv1.Event](o); ok {
		return event{&e.Regarding, e.Related, e.DeprecatedSource, e.ReportingInstance}, true
	}
	return event{}, false
}

// from is true for an event that a recorder on that node makes. Recorders of
// Kubernetes 1.27 and before may set the host alone.
func (e event) from(node string) bool {
	host, instance := e.source.Host, e.instance
	return (host != "" || instance != "") && (host == "" || host == node) && (instance == "" || instance == node)
}

// sameTarget is true if an event says the same of what it is about and of whom it is from.
func (e event) sameTarget(old event) bool {
	return *e.about == *old.about && e.sameRelated(old) && e.source == old.source && e.instance == old.instance
}

func (e event) sameRelated(old event) bool {
	if e.related == nil || old.related == nil {
		return e.related == old.related
	}
	return *e.related == *old.related
}
