// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// labelKeys are label keys of every class that a rule distinguishes.
var labelKeys = []string{
	"app",
	"example.com/team",
	"kubernetes.io/hostname",
	"kubernetes.io/os",
	"kubernetes.io/arch",
	"kubernetes.io/role",
	"beta.kubernetes.io/os",
	"beta.kubernetes.io/arch",
	"beta.kubernetes.io/instance-type",
	"node.kubernetes.io/instance-type",
	"topology.kubernetes.io/zone",
	"topology.kubernetes.io/region",
	"failure-domain.beta.kubernetes.io/zone",
	"failure-domain.beta.kubernetes.io/region",
	"kubelet.kubernetes.io/x",
	"x.kubelet.kubernetes.io/x",
	"node.kubernetes.io/x",
	"x.node.kubernetes.io/x",
	"xnode.kubernetes.io/x",
	"node-restriction.kubernetes.io/x",
	"x.node-restriction.kubernetes.io/x",
	"xnode-restriction.kubernetes.io/x",
	"node-restriction.kubernetes.io",
	"k8s.io/x",
	"x.k8s.io/x",
	"xk8s.io/x",
	"xkubernetes.io/x",
	"node-role.kubernetes.io/control-plane",
	"kubernetes.io/",
	"/x",
	"kubernetes.io/a/b",
	"node-restriction.kubernetes.io/a/b",
	"",
	"K8S.io/x",
	"node.k8s.io/x",
	"kubernetes.io.example.com/x",
}

func (m *Generator) labels() map[string]string {
	labels := map[string]string{}
	for range m.IntN(4) {
		labels[harness.Pick(m.RNG, labelKeys)] = harness.Pick(m.RNG, []string{"", "x", "y"})
	}
	if len(labels) == 0 && m.OneIn(2) {
		return nil
	}
	return labels
}

// node returns a Node as a kubelet registers it, sometimes with additional fields.
func (m *Generator) node(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: m.meta("", name)}
	node.Labels = map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"}
	node.Spec.Taints = m.taints()
	if m.OneIn(4) {
		node.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Pod", Name: "a", UID: "a-1", Controller: m.may(), BlockOwnerDeletion: m.may()},
		}
	}
	if m.OneIn(6) {
		node.Spec.ConfigSource = m.configSource() //nolint:staticcheck // a rule is about it
	}
	return node
}

func (m *Generator) taints() []corev1.Taint {
	var taints []corev1.Taint
	for range m.IntN(3) {
		taint := corev1.Taint{Key: harness.Pick(m.RNG, labelKeys), Effect: corev1.TaintEffectNoSchedule}
		if m.OneIn(2) {
			taint.TimeAdded = &metav1.Time{Time: time.Unix(int64(m.IntN(2)), 0).UTC()}
		}
		taints = append(taints, taint)
	}
	return taints
}

func (m *Generator) configSource() *corev1.NodeConfigSource {
	if m.OneIn(3) {
		return &corev1.NodeConfigSource{}
	}
	return &corev1.NodeConfigSource{
		ConfigMap: &corev1.ConfigMapNodeConfigSource{Name: harness.Pick(m.RNG, []string{"x", "y"})},
	}
}

// spoilNode makes one change to a Node that a rule may deny.
func (m *Generator) spoilNode(node *corev1.Node) {
	switch m.IntN(8) {
	case 0:
		node.Spec.ConfigSource = m.configSource() //nolint:staticcheck // a rule is about it
	case 1:
		node.Spec.ConfigSource = nil //nolint:staticcheck // a rule is about it
	case 2:
		node.Spec.Taints = m.taints()
	case 3:
		node.OwnerReferences = nil
	case 4:
		for i := range node.OwnerReferences {
			m.spoilOwner(&node.OwnerReferences[i])
		}
	default:
		m.spoilLabels(&node.Labels)
	}
}

func (m *Generator) spoilLabels(labels *map[string]string) {
	if *labels == nil {
		*labels = map[string]string{}
	}
	for range 1 + m.IntN(3) {
		key := harness.Pick(m.RNG, labelKeys)
		if m.OneIn(3) {
			delete(*labels, key)
		} else {
			(*labels)[key] = harness.Pick(m.RNG, []string{"", "x", "y"})
		}
	}
}
