// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package machinetable says what a Node lacks of its row in the machine table: the labels and taints
// that the operator keeps in one place, and not in the command line of each kubelet.
//
// Source: kubernetes/design-proposals-archive node/limit-node-object-self-control.md (Limiting Node
// Scope on the Node object), Taints set by central controllers.
package machinetable

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// Missing is what a Node lacks.
type Missing struct {
	// Labels are those that the Node has not, or has with another value.
	Labels map[string]string
	// Taints are all taints that the Node should have. Nil means that they stay as they are.
	Taints []corev1.Taint
}

// None reports whether the Node lacks nothing.
func (m Missing) None() bool { return len(m.Labels) == 0 && m.Taints == nil }

// Of compares a Node with its row. What the row does not name stays, also what an earlier table named.
// The startup taint goes in the same write. A Node without a row keeps it: this copy of the table may
// be older than that of node-restriction, which let the node register without the taints of its row.
func Of(policy *configuration.Configuration, node *corev1.Node) Missing {
	row := policy.MachineFor(node.Name)
	if row == nil {
		return Missing{}
	}
	missing := Missing{Labels: Labels(node, policy.LabelsFor(node.Name))}
	if wanted := withRow(node.Spec.Taints, row.Taints); !sameTaints(wanted, node.Spec.Taints) {
		missing.Taints = wanted
	}
	return missing
}

// Labels returns the wanted labels that the Node has not, or has with another value.
func Labels(node *corev1.Node, want map[string]string) map[string]string {
	missing := map[string]string{}
	for key, value := range want {
		if has, set := node.Labels[key]; !set || has != value {
			missing[key] = value
		}
	}
	return missing
}

// withRow returns the taints with those of the row, and without the startup taint. A taint of the row
// replaces one with its key and effect, because a Node cannot have both. The result is not nil.
func withRow(taints, row []corev1.Taint) []corev1.Taint {
	wanted := []corev1.Taint{}
	for _, taint := range taints {
		listed := slices.IndexFunc(row, func(r corev1.Taint) bool { return r.MatchTaint(&taint) })
		if taint.Key != configuration.StartupTaint && (listed < 0 || row[listed].Value == taint.Value) {
			wanted = append(wanted, taint)
		}
	}
	for _, taint := range row {
		if !slices.ContainsFunc(wanted, func(w corev1.Taint) bool { return w.MatchTaint(&taint) }) {
			wanted = append(wanted, taint)
		}
	}
	return wanted
}

// sameTaints does not compare the times, which withRow never changes.
func sameTaints(a, b []corev1.Taint) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
}
