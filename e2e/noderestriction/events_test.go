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

// telling creates an event of the scene's own node about a pod. The tweaks edit the event.
func telling(where place, tweaks ...func(*Scene, *corev1.Event)) Story {
	return func(ctx context.Context, s *Scene) Request {
		event := fixtures.EventAbout(s.Pod(ctx, where(s)), s.NewName("event"), s.Own)
		for _, tweak := range tweaks {
			tweak(s, event)
		}
		return Create(api.Events).In(event.Namespace).With(event)
	}
}

// tellingAnew is the same in the API group events.k8s.io.
func tellingAnew(where place, tweaks ...func(*Scene, *eventsv1.Event)) Story {
	return func(ctx context.Context, s *Scene) Request {
		event := fixtures.NewEventAbout(s.Pod(ctx, where(s)), s.NewName("event"), s.Own)
		for _, tweak := range tweaks {
			tweak(s, event)
		}
		return Create(api.NewEvents).In(event.Namespace).With(event)
	}
}

// tellingOfNode creates an event about a Node.
func tellingOfNode(where place) Story {
	return func(ctx context.Context, s *Scene) Request {
		s.Node(ctx, s.Own)
		event := fixtures.EventAboutNode(s.Node(ctx, where(s)), s.NewName("event"), s.Own)
		return Create(api.Events).In(event.Namespace).With(event)
	}
}

// retelling patches an existing event from the given source.
func retelling(source place, patch fields) Story {
	return func(ctx context.Context, s *Scene) Request {
		event := fixtures.EventAbout(s.Pod(ctx, s.Own), s.NewName("event"), source(s))
		s.Put(ctx, event)
		return Patch(api.Events).In(event.Namespace).Named(event.Name).With(patch)
	}
}

const (
	ownSource   = "can only write events with itself as source.host and reportingInstance"
	ownObjects  = "can only write events about itself, its own pods, and objects that they bring to it"
	notRetarget = "is not allowed to change the source of an event or what it is about"
)

var _ = DescribeTable("a node and an event", admit,
	Entry("tells in its own name", Allows("NR-EVENT-1"), telling(own)),
	Entry("does not tell in another node's name", DeniesBeyond("NR-EVENT-1", Behind),
		telling(own, func(s *Scene, e *corev1.Event) {
			e.Source.Host = s.Other
		}), ownSource),
	Entry("does not tell in nobody's name", DeniesBeyond("NR-EVENT-1", Behind),
		telling(own, func(_ *Scene, e *corev1.Event) {
			e.Source.Host, e.ReportingInstance = "", ""
		}), ownSource),
	Entry("tells in its own name in the newer group", Allows("NR-EVENT-1"), tellingAnew(own)),
	Entry("does not tell in another node's name in the newer group", DeniesBeyond("NR-EVENT-1", Behind),
		tellingAnew(own, func(s *Scene, e *eventsv1.Event) { e.ReportingInstance = s.Other }), ownSource),

	Entry("tells of its own pod", Allows("NR-EVENT-2"), telling(own)),
	Entry("does not tell of another node's pod", DeniesBeyond("NR-EVENT-2", Behind), telling(other), ownObjects),
	Entry("does not tell of a pod with another UID", DeniesBeyond("NR-EVENT-2", Behind),
		telling(own, func(_ *Scene, e *corev1.Event) {
			e.InvolvedObject.UID = "another"
		}), ownObjects),
	Entry("does not tell of another node's pod beside its own", DeniesBeyond("NR-EVENT-2", Behind),
		telling(own, func(_ *Scene, e *corev1.Event) {
			e.Related = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: e.Namespace, Name: "any", UID: "any"}
		}), ownObjects),
	Entry("does not tell of a pod with another UID in the newer group", DeniesBeyond("NR-EVENT-2", Behind),
		tellingAnew(own, func(_ *Scene, e *eventsv1.Event) { e.Regarding.UID = "another" }), ownObjects),
	Entry("tells of itself", Allows("NR-EVENT-2"), tellingOfNode(own)),
	Entry("does not tell of another node", DeniesBeyond("NR-EVENT-2", Behind), tellingOfNode(other), ownObjects),

	Entry("counts its own event up", Allows("NR-EVENT-3"), retelling(own, fields{"count": 2})),
	Entry("does not change another node's event", DeniesBeyond("NR-EVENT-3", Behind), retelling(other, fields{"count": 2}),
		"can only change events with itself as source.host and reportingInstance"),
	Entry("does not have its event be about something else", DeniesBeyond("NR-EVENT-3", Behind),
		retelling(own, fields{"involvedObject": fields{"name": "another"}}), notRetarget),
)
