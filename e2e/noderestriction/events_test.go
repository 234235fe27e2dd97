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
	Entry("tells in its own name", Allows("NR-EVENT-1"), newEvent(own)),
	Entry("does not tell in another node's name", DeniesBeyond("NR-EVENT-1", Behind),
		newEvent(own, func(s *Env, e *corev1.Event) {
			e.Source.Host = s.Other
		}), ownSource),
	Entry("does not tell in nobody's name", DeniesBeyond("NR-EVENT-1", Behind),
		newEvent(own, func(_ *Env, e *corev1.Event) {
			e.Source.Host, e.ReportingInstance = "", ""
		}), ownSource),
	Entry("tells in its own name in the newer group", Allows("NR-EVENT-1"), newEventV1(own)),
	Entry("does not tell in another node's name in the newer group", DeniesBeyond("NR-EVENT-1", Behind),
		newEventV1(own, func(s *Env, e *eventsv1.Event) { e.ReportingInstance = s.Other }), ownSource),

	Entry("tells of its own pod", Allows("NR-EVENT-2"), newEvent(own)),
	Entry("does not tell of another node's pod", DeniesBeyond("NR-EVENT-2", Behind), newEvent(other), ownObjects),
	Entry("does not tell of a pod with another UID", DeniesBeyond("NR-EVENT-2", Behind),
		newEvent(own, func(_ *Env, e *corev1.Event) {
			e.InvolvedObject.UID = "another"
		}), ownObjects),
	Entry("does not tell of another node's pod beside its own", DeniesBeyond("NR-EVENT-2", Behind),
		newEvent(own, func(_ *Env, e *corev1.Event) {
			e.Related = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: e.Namespace, Name: "any", UID: "any"}
		}), ownObjects),
	Entry("does not tell of a pod with another UID in the newer group", DeniesBeyond("NR-EVENT-2", Behind),
		newEventV1(own, func(_ *Env, e *eventsv1.Event) { e.Regarding.UID = "another" }), ownObjects),
	Entry("tells of itself", Allows("NR-EVENT-2"), newNodeEvent(own)),
	Entry("does not tell of another node", DeniesBeyond("NR-EVENT-2", Behind), newNodeEvent(other), ownObjects),

	Entry("counts its own event up", Allows("NR-EVENT-3"), eventPatch(own, fields{"count": 2})),
	Entry("does not change another node's event", DeniesBeyond("NR-EVENT-3", Behind),
		eventPatch(other, fields{"count": 2}),
		"can only change events with itself as source.host and reportingInstance"),
	Entry("does not have its event be about something else", DeniesBeyond("NR-EVENT-3", Behind),
		eventPatch(own, fields{"involvedObject": fields{"name": "another"}}), notRetarget),
)
