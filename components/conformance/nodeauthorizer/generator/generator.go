// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// The pools are small, so that names often collide.
var (
	nodes      = []string{"n1", "n2", "n3"}
	namespaces = []string{"ns1", "ns1", "ns1", "ns2", "ns2", "kube-system"}
	names      = []string{"a", "b", "c", "d"}
	// claims includes the names that ephemeral volumes generate.
	claims = []string{"a", "b", "a-a", "b-a", "a-b"}
	phases = []corev1.PodPhase{"", corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}
)

// Generator creates a random cluster, step by step. Create one with [New].
type Generator struct {
	harness.RNG
	// Unlawful allows changes that the API server forbids.
	Unlawful bool
	// Breaks allows watches to break.
	Breaks bool

	state *State
	uids  int
	// existing returns the objects in the state, in an order that does not depend on map iteration.
	existing []Object
}

// New returns a generator with an empty cluster.
func New(rng harness.RNG) *Generator { return &Generator{RNG: rng, state: NewState()} }

// Step returns the next event.
func (m *Generator) Step() Step {
	step := m.next()
	m.apply(step)
	return step
}

func (m *Generator) apply(steps ...Step) {
	for _, step := range steps {
		m.state.Apply(step)
	}
	m.existing = m.existing[:0]
	for _, kind := range Kinds() {
		for _, key := range m.state.keys(kind) {
			if object := m.state.exists[key]; object != nil {
				m.existing = append(m.existing, object)
			}
		}
	}
}

func (m *Generator) next() Step {
	if kind, broken := m.state.Broken(); broken && m.OneIn(6) {
		return Relist(kind)
	}
	kind := harness.Pick(m.RNG, []graph.Kind{
		graph.Pod, graph.Pod, graph.Pod, graph.Pod, graph.PersistentVolume, graph.PersistentVolume,
		graph.VolumeAttachment, graph.ResourceSlice, graph.PodCertificateRequest,
	})
	switch chance := m.IntN(40); {
	case chance == 39:
		return Relist(kind)
	case chance >= 36 && m.Breaks:
		return Break(kind)
	}
	key := m.key(kind)
	if m.state.exists[key] != nil && m.OneIn(4) {
		return Delete(key.Kind, key.Namespace, key.Name)
	}
	return Set(m.object(key, m.state.exists[key]))
}

func (m *Generator) key(kind graph.Kind) Key {
	key := Key{Kind: kind, Name: harness.Pick(m.RNG, names)}
	if kind == graph.Pod || kind == graph.PodCertificateRequest {
		key.Namespace = harness.Pick(m.RNG, namespaces)
	}
	return key
}

// object returns the next version of the object with this key.
func (m *Generator) object(key Key, before Object) Object {
	switch key.Kind {
	case graph.Pod:
		if pod, exists := before.(Pod); exists && !m.OneIn(6) {
			return m.changed(pod)
		}
		return m.pod(key)
	case graph.PersistentVolume:
		return m.volume(key)
	case graph.VolumeAttachment:
		return Attachment{Name: key.Name, Node: m.node()}
	case graph.ResourceSlice:
		if before != nil && !m.Unlawful {
			return before
		}
		return Slice{Name: key.Name, Node: m.node()}
	default:
		if before != nil && !m.Unlawful {
			return before
		}
		return Certificate{Namespace: key.Namespace, Name: key.Name, Node: m.node()}
	}
}

func (m *Generator) node() string {
	if m.OneIn(8) {
		return ""
	}
	return harness.Pick(m.RNG, nodes)
}

// pod returns a new pod, which may have the name of a pod that a watch still shows. In that case
// the new pod is bound, unless Unlawful is set: a watch shows a pod replaced by an unbound pod only
// after an interruption.
func (m *Generator) pod(key Key) Pod {
	m.uids++
	pod := Pod{Namespace: key.Namespace, Name: key.Name, UID: fmt.Sprint(m.uids), Node: m.node()}
	if m.state.exists[key] != nil && !m.Unlawful && pod.Node == "" {
		pod.Node = harness.Pick(m.RNG, nodes)
	}
	pod.Mirror = m.OneIn(12)
	for range m.IntN(7) {
		pod.Refs = append(pod.Refs, m.ref(&ways[m.IntN(len(ways))]))
	}
	return pod
}

func (m *Generator) ref(way *way) Ref {
	ref := Ref{Via: way.via, Name: harness.Pick(m.RNG, names)}
	switch {
	case m.OneIn(40):
		ref.Name = ""
	case way.kind == graph.PersistentVolumeClaim && !way.ofPod:
		ref.Name = harness.Pick(m.RNG, claims)
	case way.kind == graph.ConfigMap && m.OneIn(8):
		ref.Name = "kubeadm-config"
	}
	return ref
}

func (m *Generator) volume(key Key) Volume {
	volume := Volume{Name: key.Name}
	if !m.OneIn(6) {
		volume.ClaimNamespace, volume.ClaimName = m.claim()
	}
	source := harness.Pick(m.RNG, [][]string{
		{
			"azureFile",
		},
		{"azureFile, with an empty namespace"},
		{"cephfs"},
		{"cinder"},
		{"flexVolume"},
		{"rbd"},
		{"scaleIO"},
		{"iscsi"},
		{"storageos"},
		{
			"csi.nodePublishSecretRef",
			"csi.nodeStageSecretRef",
			"csi.nodeExpandSecretRef",
			"csi.controllerPublishSecretRef",
			"csi.controllerExpandSecretRef",
		},
		{},
	})
	for _, via := range source {
		if m.OneIn(3) {
			continue
		}
		ref := Ref{Via: via, Namespace: harness.Pick(m.RNG, namespaces), Name: harness.Pick(m.RNG, names)}
		if m.OneIn(3) {
			ref.Namespace = ""
		}
		volume.Refs = append(volume.Refs, ref)
	}
	return volume
}

// claim returns, half the time, a claim that a pod names.
func (m *Generator) claim() (namespace, name string) {
	if m.OneIn(2) {
		for _, object := range m.existing {
			if pod, ok := object.(Pod); ok && !m.OneIn(3) {
				for _, key := range pod.Named() {
					if key.Kind == graph.PersistentVolumeClaim {
						return key.Namespace, key.Name
					}
				}
			}
		}
	}
	return harness.Pick(m.RNG, namespaces), harness.Pick(m.RNG, claims)
}
