// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	eventSource = rules.Rule{
		ID: "NR-EVENT-1",
		Description: "A node writes only events with the node as their source: source.host (in events.k8s.io, " +
			"deprecatedSource.host) and reportingInstance are the node's name if they are set, and at least one " +
			"of them is set. The component is not checked.",
		Source: "kubernetes/design-proposals-archive node/kubelet-authorizer.md (Scoped Kubelet API Access), Future " +
			"work; k8s.io/client-go/tools/record/event.go generateEvent, which sets both",
		Extension: true,
		Optional:  true,
	}
	eventObject = rules.Rule{
		ID: "NR-EVENT-2",
		Description: "A node writes events only about its own Node, about pods that are or were bound to it, by " +
			"UID, and about objects that it may get. The event is in the namespace of that object, or in default " +
			"if the object has no namespace. The same applies to a related object.",
		Source: "kubernetes/design-proposals-archive node/kubelet-authorizer.md (Scoped Kubelet API Access), Future " +
			"work; pkg/kubelet/events",
		Extension: true,
		Optional:  true,
	}
	eventRetarget = rules.Rule{
		ID: "NR-EVENT-3",
		Description: "A node changes only events with the node as their source. It changes neither the source nor " +
			"the object of an event.",
		Source: "kubernetes/design-proposals-archive node/kubelet-authorizer.md (Scoped Kubelet API Access), Future " +
			"work; pkg/apis/core/validation/events.go ValidateEventUpdate checks this in events.k8s.io alone",
		Extension: true,
		Optional:  true,
	}
	eventDelete = rules.Rule{
		ID:          "NR-EVENT-4",
		Description: "A node deletes only events with the node as their source.",
		Source:      "Bulkhead; NodeRules grant no delete (plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go)",
		Extension:   true,
		Optional:    true,
	}
)

var eventRules = []rules.Rule{eventSource, eventObject, eventRetarget, eventDelete}

func (r *Restriction) reviewEvent(ctx context.Context, q *request) *rules.Decision {
	switch q.GetOperation() {
	case admission.Create:
		return r.reviewEventWrite(ctx, q)
	case admission.Update:
		if refused := r.optional(q, eventRetarget, func() *rules.Decision { return checkEventRetarget(q) }); refused != nil {
			return refused
		}
		return r.reviewEventWrite(ctx, q)
	case admission.Delete:
		return r.optional(q, eventDelete, func() *rules.Decision { return checkEventDelete(q) })
	default:
		return r.optional(q, eventSource, func() *rules.Decision {
			return q.forbid(eventSource, fmt.Sprintf("unexpected operation %q", q.GetOperation()))
		})
	}
}

func (r *Restriction) reviewEventWrite(ctx context.Context, q *request) *rules.Decision {
	if refused := r.optional(q, eventSource, func() *rules.Decision { return checkEventSource(q) }); refused != nil {
		return refused
	}
	return r.optional(q, eventObject, func() *rules.Decision { return r.checkEventObjects(ctx, q) })
}

func checkEventSource(q *request) *rules.Decision {
	written, ok := eventOf(q.GetObject())
	if !ok {
		return q.unexpected(eventSource, q.GetObject())
	}
	if !written.from(q.node) {
		return q.forbid(eventSource,
			fmt.Sprintf("node %q can only write events with itself as source.host and reportingInstance", q.node))
	}
	return nil
}

func checkEventRetarget(q *request) *rules.Decision {
	old, ok := eventOf(q.GetOldObject())
	if !ok {
		return q.unexpected(eventRetarget, q.GetOldObject())
	}
	written, ok := eventOf(q.GetObject())
	if !ok {
		return q.unexpected(eventRetarget, q.GetObject())
	}
	if !old.from(q.node) {
		return q.forbid(eventRetarget,
			fmt.Sprintf("node %q can only change events with itself as source.host and reportingInstance", q.node))
	}
	if !written.sameTarget(old) {
		return q.forbid(eventRetarget,
			fmt.Sprintf("node %q is not allowed to change the source of an event or what it is about", q.node))
	}
	return nil
}

func checkEventDelete(q *request) *rules.Decision {
	old, ok := eventOf(q.GetOldObject())
	if !ok {
		return q.unexpected(eventDelete, q.GetOldObject())
	}
	if !old.from(q.node) {
		return q.forbid(eventDelete,
			fmt.Sprintf("node %q can only delete events with itself as source.host and reportingInstance", q.node))
	}
	return nil
}

// event holds the fields that the rules read, for an event of either API group.
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

// from reports whether a recorder on that node created the event. Recorders of Kubernetes 1.27 and
// earlier may set only the host.
func (e event) from(node string) bool {
	host, instance := e.source.Host, e.instance
	return (host != "" || instance != "") && (host == "" || host == node) && (instance == "" || instance == node)
}

// sameTarget reports whether two events have the same object, related object and source.
func (e event) sameTarget(old event) bool {
	return *e.about == *old.about && e.sameRelated(old) && e.source == old.source && e.instance == old.instance
}

func (e event) sameRelated(old event) bool {
	if e.related == nil || old.related == nil {
		return e.related == old.related
	}
	return *e.related == *old.related
}
