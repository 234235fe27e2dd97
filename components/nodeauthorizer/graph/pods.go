// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// boundPod is all that is kept of a pod.
type boundPod struct {
	uid  types.UID
	node uint32
	// holds is the pod's own object and everything it names: sorted, each once.
	holds []objectID
}

// podWriter puts writers of pods in order and lends them room to work in.
type podWriter struct {
	sync.Mutex
	refs references
	ids  []objectID
}

// SetPod makes the graph agree with the pod, whatever it knew of a pod of that
// name before. A pod that is not bound to a node is related to nothing. The pod
// is not kept.
func (g *Graph) SetPod(pod *corev1.Pod) {
	g.pods.Lock()
	defer g.pods.Unlock()
	g.setPod(pod)
}

// DeletePod forgets the pod.
func (g *Graph) DeletePod(namespace, name string) {
	g.pods.Lock()
	defer g.pods.Unlock()
	g.deletePod(namespace, name)
}

// ReplacePods makes the graph agree with the list: pods that are not in it are
// forgotten.
func (g *Graph) ReplacePods(pods []*corev1.Pod) {
	g.pods.Lock()
	defer g.pods.Unlock()
	replace(g, Pod, pods, g.setPod, g.deletePod)
}

func (g *Graph) setPod(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		g.deletePod(pod.Namespace, pod.Name)
		return
	}
	g.pods.refs = podReferences(pod, g.pods.refs[:0])
	if g.isCurrent(pod) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pods.ids = g.state.bindPod(pod, g.pods.refs, g.pods.ids[:0])
}

// isCurrent reports whether the graph agrees with the pod already. Most updates
// are of the status and change nothing here: they must not make readers wait.
func (g *Graph) isCurrent(pod *corev1.Pod) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := &g.state
	self := s.objects.find(Pod, pod.Namespace, pod.Name)
	if self == 0 {
		return false
	}
	known := s.pods.at(s.objects.at(self).detail)
	node, ok := s.nodes.find(pod.Spec.NodeName)
	if !ok || known.node != node || known.uid != pod.UID {
		return false
	}
	namespace := s.objects.at(self).namespace
	g.pods.ids = append(g.pods.ids[:0], self)
	for _, ref := range g.pods.refs {
		// 0, for what nothing names yet, is in no pod's list.
		g.pods.ids = append(g.pods.ids, s.objects.findKey(key{ref.name, namespace, ref.kind}))
	}
	g.pods.ids = distinct(g.pods.ids)
	return slices.Equal(g.pods.ids, known.holds)
}

// bindPod counts the new list before it takes back the old one, so that what is
// in both never vanishes in between. It returns the room it was lent.
func (s *state) bindPod(pod *corev1.Pod, refs references, ids []objectID) []objectID {
	namespace := s.objects.namespaces.acquire(pod.Namespace)
	self := s.objects.intern(key{pod.Name, namespace, Pod})
	ids = append(ids, self)
	for _, ref := range refs {
		ids = append(ids, s.objects.intern(key{ref.name, namespace, ref.kind}))
	}
	s.objects.namespaces.release(namespace)
	ids = distinct(ids)

	bound := boundPod{uid: pod.UID, node: s.nodes.acquire(pod.Spec.NodeName), holds: slices.Clone(ids)}
	s.objects.hold(bound.holds...)
	s.reachAll(bound.holds, bound.node)
	s.edges += len(bound.holds)
	old := s.objects.at(self).detail
	s.objects.at(self).detail = s.pods.put(bound)
	if old != 0 {
		s.takeBack(old)
	}
	return ids
}

// takeBack undoes bindPod, by the list that it stored.
func (s *state) takeBack(number uint32) {
	pod := *s.pods.at(number)
	s.pods.drop(number)
	s.unreachAll(pod.holds, pod.node)
	s.edges -= len(pod.holds)
	s.objects.release(pod.holds...)
	s.nodes.release(pod.node)
}

func (g *Graph) deletePod(namespace, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if id := g.state.objects.find(Pod, namespace, name); id != 0 {
		g.state.takeBack(g.state.objects.at(id).detail)
	}
}

// distinct sorts the list and drops what is in it twice.
func distinct(ids []objectID) []objectID {
	slices.Sort(ids)
	return slices.Compact(ids)
}
