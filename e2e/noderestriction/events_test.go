// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// newEvent creates an event of the Env's own node about a pod. The tweaks edit the event.
func newEvent(where place, tweaks ...func(*Env, *corev1.Event)) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		event := fixtures.EventAbout(e.Pod(ctx, where(e)), e.NewName("event"), e.Own)
		for _, tweak := range tweaks {
			tweak(e, event)
		}
		return Create(api.Events).In(event.Namespace).With(event)
	}
}

// newEventV1 is the same in the API group events.k8s.io.
func newEventV1(where place, tweaks ...func(*Env, *eventsv1.Event)) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		event := fixtures.NewEventAbout(e.Pod(ctx, where(e)), e.NewName("event"), e.Own)
		for _, tweak := range tweaks {
			tweak(e, event)
		}
		return Create(api.NewEvents).In(event.Namespace).With(event)
	}
}

// newNodeEvent creates an event about a Node.
func newNodeEvent(where place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Own)
		event := fixtures.EventAboutNode(e.Node(ctx, where(e)), e.NewName("event"), e.Own)
		return Create(api.Events).In(event.Namespace).With(event)
	}
}

// eventPatch patches an existing event from the given source.
func eventPatch(source place, patch fields) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		event := fixtures.EventAbout(e.Pod(ctx, e.Own), e.NewName("event"), source(e))
		e.Put(ctx, event)
		return Patch(api.Events).In(event.Namespace).Named(event.Name).With(patch)
	}
}

const (
	ownSource   = "can only write events with itself as source.host and reportingInstance"
	ownObjects  = "can only write events about itself, its own pods, and objects that they bring to it"
	notRetarget = "is not allowed to change the source of an event or what it is about"
)

var _ = DescribeTable("a node and an event", admit,
	Entry("creates an event with itself as the source", Allows("NR-EVENT-1"), newEvent(own)),
	Entry("does not create an event with another node as the source", DeniesBeyond("NR-EVENT-1", Behind),
		newEvent(own, func(s *Env, e *corev1.Event) {
			e.Source.Host = s.Other
		}), ownSource),
	Entry("does not create an event without a source", DeniesBeyond("NR-EVENT-1", Behind),
		newEvent(own, func(_ *Env, e *corev1.Event) {
			e.Source.Host, e.ReportingInstance = "", ""
		}), ownSource),
	Entry("creates an event of events.k8s.io with itself as the source", Allows("NR-EVENT-1"), newEventV1(own)),
	Entry("does not create an event of events.k8s.io with another node as the source", DeniesBeyond("NR-EVENT-1", Behind),
		newEventV1(own, func(s *Env, e *eventsv1.Event) { e.ReportingInstance = s.Other }), ownSource),

	Entry("creates an event about its own pod", Allows("NR-EVENT-2"), newEvent(own)),
	Entry("does not create an event about another node's pod", DeniesBeyond("NR-EVENT-2", Behind), newEvent(other),
		ownObjects),
	Entry("does not create an event about a pod with another UID", DeniesBeyond("NR-EVENT-2", Behind),
		newEvent(own, func(_ *Env, e *corev1.Event) {
			e.InvolvedObject.UID = "another"
		}), ownObjects),
	Entry("does not create an event about its own pod that is related to another node's pod",
		DeniesBeyond("NR-EVENT-2", Behind),
		newEvent(own, func(_ *Env, e *corev1.Event) {
			e.Related = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: e.Namespace, Name: "any", UID: "any"}
		}), ownObjects),
	Entry("does not create an event of events.k8s.io about a pod with another UID", DeniesBeyond("NR-EVENT-2", Behind),
		newEventV1(own, func(_ *Env, e *eventsv1.Event) { e.Regarding.UID = "another" }), ownObjects),
	Entry("creates an event about itself", Allows("NR-EVENT-2"), newNodeEvent(own)),
	Entry("does not create an event about another Node", DeniesBeyond("NR-EVENT-2", Behind), newNodeEvent(other),
		ownObjects),

	Entry("increments the count of its own event", Allows("NR-EVENT-3"), eventPatch(own, fields{"count": 2})),
	Entry("does not change another node's event", DeniesBeyond("NR-EVENT-3", Behind),
		eventPatch(other, fields{"count": 2}),
		"can only change events with itself as source.host and reportingInstance"),
	Entry("does not change the object of its own event", DeniesBeyond("NR-EVENT-3", Behind),
		eventPatch(own, fields{"involvedObject": fields{"name": "another"}}), notRetarget),
)
