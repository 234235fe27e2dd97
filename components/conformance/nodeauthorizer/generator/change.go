// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// changed returns the next state of a pod: it is bound, or it ends, or its status changes, or an
// ephemeral container is added.
func (m *Generator) changed(pod Pod) Pod {
	pod.Refs = slices.Clone(pod.Refs)
	switch m.IntN(8) {
	case 0:
		pod.Phase = harness.Pick(m.RNG, phases)
	case 1:
		m.changeStatus(&pod)
	case 2, 3:
		m.changeExtendedClaim(&pod)
	case 4:
		pod.Node = harness.Pick(m.RNG, nodes)
	case 5:
		if m.Unlawful {
			m.changeUnlawfully(&pod)
		}
	default:
		if way := m.ephemeralWay(); !pod.Mirror {
			pod.Refs = append(pod.Refs, m.ref(way))
		}
	}
	if pod.Node == "" && m.OneIn(2) {
		pod.Node = harness.Pick(m.RNG, nodes)
	}
	return pod
}

func (m *Generator) ephemeralWay() *way {
	return waysByVia[harness.Pick(m.RNG, []string{
		"ephemeralContainers.env.secretKeyRef", "ephemeralContainers.env.configMapKeyRef",
		"ephemeralContainers.envFrom.secretRef", "ephemeralContainers.envFrom.configMapRef",
	})]
}

// changeStatus lets the claims of templates be created, or change their names.
func (m *Generator) changeStatus(pod *Pod) {
	for i := range pod.Refs {
		switch ref := &pod.Refs[i]; ref.Via {
		case madeFromTemplate, notYetMade, neverMade:
			ref.Via, ref.Name = harness.Pick(
				m.RNG,
				[]string{madeFromTemplate, madeFromTemplate, neverMade},
			), harness.Pick(
				m.RNG,
				names,
			)
		}
	}
}

func (m *Generator) changeExtendedClaim(pod *Pod) {
	pod.Refs = slices.DeleteFunc(pod.Refs, func(ref Ref) bool { return ref.Via == extendedClaim })
	if !m.OneIn(4) {
		pod.Refs = append(pod.Refs, m.ref(waysByVia[extendedClaim]))
	}
}

// changeUnlawfully makes a change that no API server allows.
func (m *Generator) changeUnlawfully(pod *Pod) {
	switch m.IntN(4) {
	case 0:
		pod.Node = ""
	case 1:
		pod.Mirror = !pod.Mirror
	case 2:
		if len(pod.Refs) > 0 {
			pod.Refs = slices.Delete(pod.Refs, 0, 1)
		}
	default:
		pod.Refs = append(pod.Refs, m.ref(&ways[m.IntN(len(ways))]))
	}
}

// Asked returns all kinds, namespaces and names that requests can name.
func Asked() []Key {
	var keys []Key
	for _, kind := range graph.Kinds() {
		for _, namespace := range []string{"", "ns1", "ns2", "kube-system"} {
			for _, name := range append([]string{"kubeadm-config"}, append(claims, names...)...) {
				keys = append(keys, Key{kind, namespace, name})
			}
		}
	}
	return keys
}

// Nodes returns the names of all nodes, and the name of a node that does not exist.
func Nodes() []string { return append([]string{"n0"}, nodes...) }
