// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

func TestNodes(t *testing.T) {
	unverified := func(t *testing.T, c *testCluster) {
		for _, name := range []string{"cp1", "cp2"} {
			c.entries[name] = entry(t, func(h *hosts.Host) { h.VerifyKubelets = false })
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*testing.T, *testCluster)
		guard  Guard
		want   []string
	}{
		{"proxy ready", func(*testing.T, *testCluster) {}, Guarded, nil},
		{"no proxy", func(_ *testing.T, c *testCluster) { c.proxied = []string{"cp1", "cp2"} }, NotGuarded,
			[]string{"FAIL|w1|the kubelet is not guarded"}},
		{"no proxy, before kube-apiserver verifies kubelets", func(t *testing.T, c *testCluster) {
			unverified(t, c)
			c.proxied = []string{"cp1", "cp2"}
		}, NotGuarded, []string{"WARN|w1|the kubelet is not guarded"}},
		{"kubelet that cannot be asked", func(_ *testing.T, c *testCluster) {
			c.proxied[2] = "w1 (cannot ask its kubelet: \x1btimeout)"
		}, Unknown, []string{"WARN|w1|it is unknown whether the kubelet is guarded: cannot ask its kubelet: \uFFFDtimeout"}},
		{"proxy of a node whose name begins alike", func(_ *testing.T, c *testCluster) { c.proxied[2] = "w10" }, NotGuarded,
			[]string{"FAIL|w1|the kubelet is not guarded"}},
		{"Windows node", func(_ *testing.T, c *testCluster) {
			c.nodes["w1"].Labels["kubernetes.io/os"] = "windows"
			c.proxied = []string{"cp1", "cp2"}
		}, LeftOut, nil},
		{"Windows node whose kubelet is behind a proxy", func(_ *testing.T, c *testCluster) {
			c.nodes["w1"].Labels["kubernetes.io/os"] = "windows"
		}, Guarded, nil},
		{"no proxy, and the Node is not ready", func(_ *testing.T, c *testCluster) {
			c.nodes["w1"].Status.Conditions[0].Status = corev1.ConditionUnknown
			c.proxied = []string{"cp1", "cp2"}
		}, Unknown, []string{"WARN|w1|it is unknown whether the kubelet is guarded"}},
		{"proxy with an image of no host", func(_ *testing.T, c *testCluster) {
			c.daemonSet.Spec.Template.Spec.Containers[0].Image = "other:v0"
		}, Guarded, []string{"FAIL||kubelet-auth-proxy runs image other:v0, but the hosts have " + image}},
		{"no DaemonSet, although kubelets are verified", func(_ *testing.T, c *testCluster) {
			c.daemonSet = nil
			c.proxied = []string{"cp1", "cp2"}
		}, NotGuarded, []string{"FAIL||no kubelet is guarded"}},
		{"no DaemonSet in profile hardened", func(t *testing.T, c *testCluster) {
			unverified(t, c)
			c.daemonSet = nil
			c.proxied = []string{"cp1", "cp2"}
		}, NotGuarded, []string{"WARN||no kubelet is guarded"}},
		{"no DaemonSet in profile parity", func(t *testing.T, c *testCluster) {
			for _, name := range []string{"cp1", "cp2"} {
				c.entries[name] = entry(t, func(h *hosts.Host) { h.VerifyKubelets, h.Profile = false, "parity" })
			}
			c.daemonSet = nil
			c.proxied = []string{"cp1", "cp2"}
		}, NotGuarded, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestCluster(t)
			tc.change(t, c)
			report := c.collect(t)
			expectProblems(t, report, tc.want...)
			if got := report.Nodes[2]; got.Name != "w1" || got.Guard != tc.guard || (got.Reason == "") != (tc.guard != Unknown) {
				t.Errorf("node %+v, want w1 %s", got, tc.guard)
			}
		})
	}
}
