// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// HasEnded reports whether no container of the pod runs any more or will run
// again: its phase is Succeeded or Failed.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// EndPod puts what the pod leads to under the condition Ended: its secrets,
// config maps and account, and the secrets of its volumes. Its claims, their
// volumes and the pod itself stay as they are.
//
// It holds for that UID, whatever phase a later [Graph.SetPod] of the same UID
// shows, until the pod is deleted: a node writes the phase, and must not be able to
// take it back. Nothing happens if the pod is not known or has another UID.
func (g *Graph) EndPod(namespace, name string, uid types.UID) {
	if g.kept&ended == 0 {
		return
	}
	g.pods.Lock()
	defer g.pods.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.state
	self := s.objects.find(Pod, namespace, name)
	if self == 0 {
		return
	}
	pod := *s.pods.at(s.objects.at(self).detail)
	if pod.uid != uid || pod.ended {
		return
	}
	pod.ended = true
	s.remark(self, pod, func(k key) marks {
		if endable[k.kind] {
			return k.marks | ended
		}
		return k.marks
	})
}

// mark drops the marks that are not kept and adds those that the pod does not
// account for alone.
func (s *state) mark(refs references, pod *corev1.Pod, kept marks, hasEnded bool) {
	for i := range refs {
		ref := &refs[i]
		ref.marks &= kept
		if ref.marks&unowned != 0 && s.owns(pod.Name, pod.UID, identity{pod.Namespace, ref.name}) {
			ref.marks = owned
		}
		if hasEnded && endable[ref.kind] {
			ref.marks |= ended
		}
	}
}

// remark stores the pod anew, with what it names under other marks.
func (s *state) remark(self objectID, pod boundPod, next func(key) marks) {
	holds := make([]objectID, len(pod.holds))
	for i, id := range pod.holds {
		known := s.objects.at(id).key
		holds[i] = s.objects.intern(known.under(next(known)))
	}
	holds = distinct(holds)
	if slices.Equal(holds, pod.holds) {
		*s.pods.at(s.objects.at(self).detail) = pod
		return
	}
	pod.holds = holds
	s.nodes.hold(pod.node)
	s.rebind(self, pod)
}
