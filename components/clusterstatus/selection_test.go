// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSelects(t *testing.T) {
	term := func(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: key, Operator: operator, Values: values}}}
	}
	and := func(a, b corev1.NodeSelectorTerm) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: append(a.MatchExpressions, b.MatchExpressions...)}
	}
	field := func(name string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1",
		Labels: map[string]string{"pool": "edge", "cores": "4"}}}
	inEdge, inOther := term("pool", corev1.NodeSelectorOpIn, "edge"), term("pool", corev1.NodeSelectorOpIn, "other")
	for _, tc := range []struct {
		name  string
		terms []corev1.NodeSelectorTerm
		want  bool
	}{
		{"value listed", []corev1.NodeSelectorTerm{inEdge}, true},
		{"value not listed", []corev1.NodeSelectorTerm{inOther}, false},
		{"NotIn, value not listed", []corev1.NodeSelectorTerm{term("pool", corev1.NodeSelectorOpNotIn, "other")}, true},
		{"NotIn, value listed", []corev1.NodeSelectorTerm{term("pool", corev1.NodeSelectorOpNotIn, "edge")}, false},
		{"NotIn, node without the label", []corev1.NodeSelectorTerm{term("x", corev1.NodeSelectorOpNotIn, "edge")}, true},
		{"Exists", []corev1.NodeSelectorTerm{term("pool", corev1.NodeSelectorOpExists)}, true},
		{"DoesNotExist", []corev1.NodeSelectorTerm{term("pool", corev1.NodeSelectorOpDoesNotExist)}, false},
		{"Gt, greater", []corev1.NodeSelectorTerm{term("cores", corev1.NodeSelectorOpGt, "3")}, true},
		{"Gt, equal", []corev1.NodeSelectorTerm{term("cores", corev1.NodeSelectorOpGt, "4")}, false},
		{"Lt, less", []corev1.NodeSelectorTerm{term("cores", corev1.NodeSelectorOpLt, "5")}, true},
		{"Lt, equal", []corev1.NodeSelectorTerm{term("cores", corev1.NodeSelectorOpLt, "4")}, false},
		{"one of two terms", []corev1.NodeSelectorTerm{inOther, inEdge}, true},
		{"one of two requirements of a term", []corev1.NodeSelectorTerm{and(inEdge, inOther)}, false},
		{"name of the node", []corev1.NodeSelectorTerm{field("w1")}, true},
		{"name of another node", []corev1.NodeSelectorTerm{field("w2")}, false},
		{"empty term", []corev1.NodeSelectorTerm{{}}, false},
		{"no term", nil, false},
		{"unknown operator", []corev1.NodeSelectorTerm{term("pool", "Like", "edge")}, false},
	} {
		pod := &corev1.PodSpec{NodeSelector: map[string]string{"pool": "edge"}, Affinity: &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: tc.terms}}}}
		if got := selects(pod, node); got != tc.want {
			t.Errorf("%s: selected is %v, want %v", tc.name, got, tc.want)
		}
		if pod.NodeSelector["pool"] = "other"; selects(pod, node) {
			t.Errorf("%s: selected, although the node selector does not match", tc.name)
		}
	}
	for name, affinity := range map[string]*corev1.Affinity{"no affinity": nil, "no node affinity": {},
		"no required node affinity": {NodeAffinity: &corev1.NodeAffinity{}}} {
		if !selects(&corev1.PodSpec{Affinity: affinity}, node) {
			t.Errorf("%s: not selected", name)
		}
	}
}
