// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// policyWithTable lists one label and one taint, and requires a label and a taint of node n1.
func policyWithTable() *configuration.Configuration {
	return &configuration.Configuration{
		AllowedLabels: configuration.NewKeys("example.com/pool"), AllowedTaints: configuration.NewKeys("dedicated"),
		Machines: []configuration.Machine{{Name: "n1", Labels: map[string]string{"example.com/zone": "a"},
			Taints: []corev1.Taint{{Key: "pii", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}}},
	}
}

func TestLabelsDenied(t *testing.T) {
	for _, tt := range []struct {
		name       string
		policy     *configuration.Configuration
		node       string
		key, value string
		denied     bool
	}{
		{"no policy, label of the node: allowed", nil, "n1", "example.com/rack", "1", false},
		{"no policy, role: denied", nil, "n1", "node-role.kubernetes.io/db", "", true},
		{"policy without a list, role: denied", &configuration.Configuration{}, "n1", "node-role.kubernetes.io/db", "", true},
		{"label in the list: allowed", policyWithTable(), "n1", "example.com/pool", "db", false},
		{"label outside the list: denied", policyWithTable(), "n1", "example.com/rack", "1", true},
		{"hostname: allowed", policyWithTable(), "n1", corev1.LabelHostname, "n1", false},
		{"value of the machine table: allowed", policyWithTable(), "n1", "example.com/zone", "a", false},
		{"other value than the machine table: denied", policyWithTable(), "n1", "example.com/zone", "b", true},
		{"row of another node: denied", policyWithTable(), "n2", "example.com/zone", "a", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := LabelsDenied(tt.policy, tt.node, map[string]string{tt.key: tt.value})
			if tt.denied != slices.Equal(got, []string{tt.key}) || !tt.denied && len(got) > 0 {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestTaintsDenied(t *testing.T) {
	pii := corev1.Taint{Key: "pii", Value: "yes", Effect: corev1.TaintEffectNoSchedule}
	for _, tt := range []struct {
		name   string
		policy *configuration.Configuration
		node   string
		taint  corev1.Taint
		denied bool
	}{
		{"no policy: allowed", nil, "n1", pii, false},
		{"policy without a list: allowed", &configuration.Configuration{}, "n1", pii, false},
		{"taint in the list: allowed", policyWithTable(), "n1", corev1.Taint{Key: "dedicated"}, false},
		{"taint outside the list: denied", policyWithTable(), "n1", corev1.Taint{Key: "other"}, true},
		{"not-ready: allowed", policyWithTable(), "n1", corev1.Taint{Key: corev1.TaintNodeNotReady}, false},
		{"taint of the machine table: allowed", policyWithTable(), "n1", pii, false},
		{"row of another node: denied", policyWithTable(), "n2", pii, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := TaintsDenied(tt.policy, tt.node, []corev1.Taint{tt.taint}); len(got) > 0 != tt.denied {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestMachineMismatch(t *testing.T) {
	pii := corev1.Taint{Key: "pii", Value: "yes", Effect: corev1.TaintEffectNoSchedule}
	for _, tt := range []struct {
		name, node, zone string
		taints           []corev1.Taint
		labels, missing  int
	}{
		{"as the table says", "n1", "a", []corev1.Taint{pii}, 0, 0},
		{"other label", "n1", "b", []corev1.Taint{pii}, 1, 0},
		{"no taint", "n1", "a", nil, 0, 1},
		{"no row", "n2", "b", nil, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: tt.node, Labels: map[string]string{"example.com/zone": tt.zone}},
				Spec:       corev1.NodeSpec{Taints: tt.taints}}
			labels, missing := MachineMismatch(policyWithTable(), node)
			if len(labels) != tt.labels || len(missing) != tt.missing {
				t.Errorf("got %v, %v", labels, missing)
			}
		})
	}
	if labels, missing := MachineMismatch(nil, &corev1.Node{}); labels != nil || missing != nil {
		t.Errorf("without a policy: %v, %v", labels, missing)
	}
}

func TestPodIPsDenied(t *testing.T) {
	for _, tt := range []struct {
		name, cidr, ip string
		hostNetwork    bool
		denied         bool
	}{
		{"inside podCIDR: allowed", "10.1.0.0/24", "10.1.0.7", false, false},
		{"outside podCIDR: denied", "10.1.0.0/24", "10.2.0.7", false, true},
		{"no podCIDR: allowed", "", "10.2.0.7", false, false},
		{"no podCIDR of this family: allowed", "10.1.0.0/24", "2001:db8::7", false, false},
		{"address of the Node: allowed", "10.1.0.0/24", "192.0.2.1", false, false},
		{"host network, not the Node's: denied", "10.1.0.0/24", "10.1.0.7", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := &corev1.Node{Spec: corev1.NodeSpec{PodCIDR: tt.cidr},
				Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}}}
			pod := &corev1.Pod{Spec: corev1.PodSpec{HostNetwork: tt.hostNetwork},
				Status: corev1.PodStatus{PodIP: tt.ip, PodIPs: []corev1.PodIP{{IP: tt.ip}}}}
			if got := PodIPsDenied(node, pod); len(got) > 0 != tt.denied {
				t.Errorf("got %v", got)
			}
		})
	}
}
