// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "k8s.io/apimachinery/pkg/types"

// BoundPod is what the graph knows of a pod itself.
type BoundPod struct {
	UID  types.UID
	Node string
	// RunsAs is the name of the pod's ServiceAccount. It is empty for a mirror pod.
	RunsAs string
}

// BoundPod returns the pod of that name, if it is bound to a node. It takes one lock and
// does not allocate.
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

// accountOf finds the one account among what the pod names.
func (s *state) accountOf(pod *boundPod) string {
	for _, id := range pod.holds {
		if object := s.objects.at(id); object.kind == ServiceAccount {
			return object.name
		}
	}
	return ""
}
