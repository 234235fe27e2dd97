// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package machinetable

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

const table = `apiVersion: noderestriction.admission.k8s.io/v1
kind: Configuration
machines:
- name: pii-*
  labels: {node-restriction.kubernetes.io/pool: pii, rack: a}
  taints:
  - {key: dedicated, value: pii, effect: NoSchedule}
  - {key: dedicated, value: pii, effect: NoExecute}
- name: plain-*
`

func taint(key, value string, effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: key, Value: value, Effect: effect}
}

func TestOf(t *testing.T) {
	policy, err := configuration.Parse([]byte(table))
	if err != nil {
		t.Fatal(err)
	}
	const pool = "node-restriction.kubernetes.io/pool"
	startup := taint(configuration.StartupTaint, "", "NoSchedule")
	schedule, execute := taint("dedicated", "pii", "NoSchedule"), taint("dedicated", "pii", "NoExecute")
	now := metav1.Now()
	timed := execute
	timed.TimeAdded = &now
	notReady := taint(corev1.TaintNodeNotReady, "", "NoSchedule")
	complete := map[string]string{pool: "pii", "rack": "a", "other": "x"}
	for _, row := range []struct {
		name, node string
		labels     map[string]string
		taints     []corev1.Taint
		want       Missing
	}{
		{"complete", "pii-1", complete, []corev1.Taint{schedule, timed}, Missing{}},
		{"complete, in another order", "pii-1", complete, []corev1.Taint{execute, notReady, schedule}, Missing{}},
		{"new with the startup taint", "pii-1", nil, []corev1.Taint{notReady, startup},
			Missing{map[string]string{pool: "pii", "rack": "a"}, []corev1.Taint{notReady, schedule, execute}}},
		{"one taint missing", "pii-1", complete, []corev1.Taint{timed},
			Missing{nil, []corev1.Taint{timed, schedule}}},
		{"another value of a label", "pii-1", map[string]string{pool: "x", "rack": "a"}, []corev1.Taint{schedule, execute},
			Missing{map[string]string{pool: "pii"}, nil}},
		{"another value of a taint", "pii-1", complete, []corev1.Taint{taint("dedicated", "x", "NoSchedule"), execute},
			Missing{nil, []corev1.Taint{execute, schedule}}},
		{"startup taint with another effect", "pii-1", complete,
			[]corev1.Taint{schedule, execute, taint(configuration.StartupTaint, "v", "NoExecute")},
			Missing{nil, []corev1.Taint{schedule, execute}}},
		{"no row", "other", map[string]string{pool: "x"}, []corev1.Taint{notReady}, Missing{}},
		{"no row, startup taint alone", "other", nil, []corev1.Taint{startup}, Missing{}},
		{"a row without labels and taints", "plain-1", nil, []corev1.Taint{startup}, Missing{nil, []corev1.Taint{}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: row.node, Labels: row.labels},
				Spec: corev1.NodeSpec{Taints: row.taints}}
			got := Of(policy, node)
			if len(got.Labels) == 0 {
				got.Labels = nil
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if none := row.want.Labels == nil && row.want.Taints == nil; got.None() != none {
				t.Errorf("None is %v", got.None())
			}
		})
	}
	waiting := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{startup}}}
	if got := Of(nil, waiting); !got.None() {
		t.Errorf("without a policy: %+v", got)
	}
}
