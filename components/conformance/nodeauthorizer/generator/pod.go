// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// Pod is a pod. It is not bound if Node is "".
type Pod struct {
	Namespace, Name string
	UID             string
	Node            string
	Phase           corev1.PodPhase
	Mirror          bool
	Refs            []Ref
}

// Ref is a field of an object that names another object.
type Ref struct {
	// Via is the field, for example "imagePullSecrets".
	Via string
	// Namespace is the namespace of the secret that a volume names. It is "" in pods.
	Namespace string
	Name      string
}

// Key implements [Object].
func (p Pod) Key() Key { return Key{graph.Pod, p.Namespace, p.Name} }

// API implements [Object].
func (p Pod) API() metav1.Object {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = p.Namespace, p.Name, types.UID(p.UID)
	pod.Spec.NodeName, pod.Status.Phase = p.Node, p.Phase
	if p.Mirror {
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	}
	for i, ref := range p.Refs {
		wayOf(ref).add(pod, i, ref.Name)
	}
	return pod
}

// Named returns the objects that the pod names, once for each reference.
func (p Pod) Named() []Key {
	keys := make([]Key, 0, len(p.Refs))
	for _, ref := range p.Refs {
		way := wayOf(ref)
		switch {
		case way.namesNothing:
		case way.ofPod:
			keys = append(keys, Key{way.kind, p.Namespace, p.Name + "-" + ref.Name})
		default:
			keys = append(keys, Key{way.kind, p.Namespace, ref.Name})
		}
	}
	return keys
}

// Simpler implements [Object].
func (p Pod) Simpler() []Object {
	var simpler []Object
	try := func(change func(*Pod)) {
		q := p
		q.Refs = slices.Clone(p.Refs)
		change(&q)
		simpler = append(simpler, q)
	}
	for i := range p.Refs {
		try(func(q *Pod) { q.Refs = slices.Delete(q.Refs, i, i+1) })
	}
	if p.Mirror {
		try(func(q *Pod) { q.Mirror = false })
	}
	if p.Phase != "" {
		try(func(q *Pod) { q.Phase = "" })
	}
	if p.UID != "" {
		try(func(q *Pod) { q.UID = "" })
	}
	return simpler
}
