// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import corev1 "k8s.io/api/core/v1"

// Reference is an object to which a pod or a volume refers.
type Reference struct {
	Kind            Kind
	Namespace, Name string
}

// PodReferences returns every object to which the pod refers, each once, in the order of the pod's
// fields. A mirror pod has none. The graph uses the same references.
func PodReferences(pod *corev1.Pod) []Reference {
	seen := map[Reference]bool{}
	var all []Reference
	for _, r := range podReferences(pod, nil) {
		all = appendOnce(all, seen, Reference{r.kind, pod.Namespace, r.name})
	}
	return all
}

// VolumeReferences returns the secrets that a kubelet needs to mount the volume, each once. The graph
// uses the same references.
func VolumeReferences(volume *corev1.PersistentVolume) []Reference {
	seen := map[Reference]bool{}
	var all []Reference
	for _, secret := range volumeReferences(volume, nil) {
		all = appendOnce(all, seen, Reference{Secret, secret.namespace, secret.name})
	}
	return all
}

func appendOnce(all []Reference, seen map[Reference]bool, r Reference) []Reference {
	if seen[r] {
		return all
	}
	seen[r] = true
	return append(all, r)
}

// NodeOf returns the node of an object that has exactly one. It returns "" for other objects.
func (g *Graph) NodeOf(r Reference) string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	id, _ := g.state.sought(r.Kind, r.Namespace, r.Name)
	only, ok := g.state.objects.at(id).nodes.single()
	if !ok {
		return ""
	}
	return g.state.nodes.entries[only].name
}
