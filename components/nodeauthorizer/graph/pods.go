// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// boundPod is all that the graph keeps of a pod.
type boundPod struct {
	uid  types.UID
	node uint32
	// ended is never reset while the pod is stored with this UID.
	ended bool
	// objectIDs has the pod's own object and every object to which it refers: sorted, without
	// duplicates.
	objectIDs []objectID
}

// podWriter orders the writers of pods and has buffers that they reuse.
type podWriter struct {
	sync.Mutex
	refs references
	ids  []objectID
}

// SetPod makes the graph agree with the pod. It replaces everything that the graph knew about a pod
// of that name. A pod that is not bound to a node has no relations. The graph keeps no reference to
// the pod.
func (g *Graph) SetPod(pod *corev1.Pod) {
	g.pods.Lock()
	defer g.pods.Unlock()
	if pod.Spec.NodeName == "" {
		g.deletePod(pod.Namespace, pod.Name)
		return
	}
	g.pods.refs = podReferences(pod, g.pods.refs[:0])
	hasEnded, isCurrent := g.compare(pod)
	if isCurrent {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pods.ids = g.state.bindPod(pod, hasEnded, g.pods.refs, g.pods.ids[:0])
}

// DeletePod removes the pod from the graph.
func (g *Graph) DeletePod(namespace, name string) {
	g.pods.Lock()
	defer g.pods.Unlock()
	g.deletePod(namespace, name)
}

// compare reports whether the pod is already marked as ended and whether the graph already agrees
// with it. Most updates are of the status and change nothing here, so they must not block readers.
// compare also sets the flags of the references.
func (g *Graph) compare(pod *corev1.Pod) (hasEnded, isCurrent bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := &g.state
	self := s.objects.find(Pod, pod.Namespace, pod.Name)
	// For an unknown pod, this is the empty record 0.
	known := s.pods.at(s.objects.at(self).detail)
	hasEnded = known.ended && known.uid == pod.UID
	s.mark(g.pods.refs, pod, g.kept, hasEnded)
	if self == 0 || known.uid != pod.UID || s.nodes.entries[known.node].name != pod.Spec.NodeName {
		return hasEnded, false
	}
	namespace := s.objects.at(self).namespace
	g.pods.ids = append(g.pods.ids[:0], self)
	for _, ref := range g.pods.refs {
		// findKey returns 0 if nothing refers to the object yet. No pod's list contains 0.
		g.pods.ids = append(g.pods.ids, s.objects.findKey(ref.in(namespace)))
	}
	g.pods.ids = distinct(g.pods.ids)
	return hasEnded, slices.Equal(g.pods.ids, known.objectIDs)
}

// bindPod creates the pod's list from its references. It returns the buffer ids for reuse.
func (s *state) bindPod(pod *corev1.Pod, hasEnded bool, refs references, ids []objectID) []objectID {
	namespace := s.objects.namespaces.acquire(pod.Namespace)
	self := s.objects.intern(key{name: pod.Name, namespace: namespace, kind: Pod})
	ids = append(ids, self)
	for _, ref := range refs {
		ids = append(ids, s.objects.intern(ref.in(namespace)))
	}
	s.objects.namespaces.release(namespace)
	ids = distinct(ids)

	node := s.nodes.acquire(pod.Spec.NodeName)
	s.rebind(self, boundPod{uid: pod.UID, node: node, ended: hasEnded, objectIDs: slices.Clone(ids)})
	return ids
}

// rebind counts the new list before it removes the old one. So an object that is in both is not
// removed in between. The caller has acquired the node.
func (s *state) rebind(self objectID, bound boundPod) {
	s.objects.retain(bound.objectIDs...)
	s.reachAll(bound.objectIDs, bound.node)
	s.edges += len(bound.objectIDs)
	old := s.objects.at(self).detail
	s.objects.at(self).detail = s.pods.put(bound)
	if old != 0 {
		s.removeReferences(old)
	}
}

// removeReferences reverts rebind, with the list that rebind stored.
func (s *state) removeReferences(number uint32) {
	pod := *s.pods.at(number)
	s.pods.drop(number)
	s.unreachAll(pod.objectIDs, pod.node)
	s.edges -= len(pod.objectIDs)
	s.objects.release(pod.objectIDs...)
	s.nodes.release(pod.node)
}

func (g *Graph) deletePod(namespace, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if id := g.state.objects.find(Pod, namespace, name); id != 0 {
		g.state.removeReferences(g.state.objects.at(id).detail)
	}
}

// distinct sorts the list and removes duplicates.
func distinct(ids []objectID) []objectID {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// BoundPod is what the graph knows about a pod itself.
type BoundPod struct {
	UID  types.UID
	Node string
	// RunsAs is the name of the pod's ServiceAccount. It is empty for a mirror pod.
	RunsAs string
}

// BoundPod returns the pod of that name. The second result is false if no such pod is bound to a
// node.
func (g *Graph) BoundPod(namespace, name string) (BoundPod, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := &g.state
	id := s.objects.find(Pod, namespace, name)
	if id == 0 {
		return BoundPod{}, false
	}
	pod := s.pods.at(s.objects.at(id).detail)
	return BoundPod{UID: pod.uid, Node: s.nodes.entries[pod.node].name, RunsAs: s.accountOf(pod)}, true
}

// accountOf finds the only account in the pod's list.
func (s *state) accountOf(pod *boundPod) string {
	for _, id := range pod.objectIDs {
		if object := s.objects.at(id); object.kind == ServiceAccount {
			return object.name
		}
	}
	return ""
}
