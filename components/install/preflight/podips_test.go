// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// runningPod returns a running pod on node n1, with edits.
func runningPod(name, ip string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:   corev1.PodSpec{NodeName: "n1"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}}}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func onHostNetwork(p *corev1.Pod) { p.Spec.HostNetwork = true }

func podCIDRs(cidrs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.PodCIDRs = cidrs }
}

func TestPodIPs(t *testing.T) {
	const outside = "1 of 1 running pods have an IP outside the podCIDRs of their Node: default/web (10.9.0.7 on node n1)."
	both := podCIDRs("10.1.0.0/24", "2001:db8::/64")
	for _, tt := range []struct {
		name     string
		mode     rules.Mode
		node     *corev1.Node
		pod      *corev1.Pod
		level    Level
		mentions string
	}{
		{"inside podCIDRs", rules.Enforce, workerNode("n1", both), runningPod("web", "10.1.0.7"), OK,
			"all 1 running pods"},
		{"outside podCIDRs", rules.Enforce, workerNode("n1", both), runningPod("web", "10.9.0.7"), Fail, outside},
		{"the setting is named", rules.Enforce, workerNode("n1", both), runningPod("web", "10.9.0.7"), Fail,
			"`rules: {modes: {NR-PODIP-1: \"off\"}}`"},
		{"outside podCIDRs, audited", rules.Audit, workerNode("n1", both), runningPod("web", "10.9.0.7"), OK, outside},
		{"outside podCIDRs, off", rules.Off, workerNode("n1", both), runningPod("web", "10.9.0.7"), OK,
			"rule NR-PODIP-1 is off"},
		{"no podCIDRs", rules.Enforce, workerNode("n1"), runningPod("web", "10.9.0.7"), OK, "all 1 running pods"},
		{"outside podCIDRs, host network", rules.Enforce, workerNode("n1", both),
			runningPod("web", "10.9.0.7", onHostNetwork), OK, "all 0 running pods"},
		{"outside podCIDRs, ended", rules.Enforce, workerNode("n1", both),
			runningPod("web", "10.9.0.7", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), OK,
			"all 0 running pods"},
		{"second IP outside podCIDRs", rules.Enforce, workerNode("n1", both),
			runningPod("web", "10.1.0.7", func(p *corev1.Pod) {
				p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: "2001:db8:9::7"})
			}), Fail, "2001:db8:9::7 on node n1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := podIPFindings(t.Context(), Input{Client: fake.NewClientset(tt.node, tt.pod),
				Modes: map[rules.ID]rules.Mode{noderestriction.PodIPInside: tt.mode}})
			wantOne(t, findings, err, tt.level, tt.mentions)
		})
	}
}

func TestManyPodsOutsideAreCounted(t *testing.T) {
	objects := []runtime.Object{workerNode("n1", podCIDRs("10.1.0.0/24"))}
	for i := range 20 {
		objects = append(objects, runningPod(fmt.Sprintf("web-%02d", i), "10.9.0.7"))
	}
	findings, err := podIPFindings(t.Context(), Input{Client: fake.NewClientset(objects...),
		Modes: map[rules.ID]rules.Mode{noderestriction.PodIPInside: rules.Enforce}})
	wantOne(t, findings, err, Fail, "default/web-02 (10.9.0.7 on node n1) and 17 more. NR-PODIP-1 would deny")
}

// TestPodIPRule fails if the rule gets another ID.
func TestPodIPRule(t *testing.T) {
	if rule, ok := rules.Find(noderestriction.Rules, noderestriction.PodIPInside); !ok || !rule.Optional {
		t.Errorf("NR-PODIP-1 is %v", rule)
	}
}
