// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStatus(t *testing.T) {
	testRows(t, []row{
		{"host without Bulkhead", func(c *testCluster) {
			c.addNode("cp3")
			c.nodes["cp3"].Labels["node-role.kubernetes.io/control-plane"] = ""
		},
			[]string{"urgent|hosts|cp3|Bulkhead is not installed", "urgent|kubeadm||ConfigMap kubeadm-config names"}},
		{"pod not ready on both hosts: one finding", func(c *testCluster) {
			for _, node := range []string{"cp1", "cp2"} {
				c.pods["bulkhead-certs-"+node].Status.Conditions = nil
			}
		}, []string{"urgent|hosts|cp1,cp2|certs is not ready"}},
		{"drift", func(c *testCluster) { c.entries["cp2"].ConfigHash = "ee" },
			[]string{"urgent|drift||hosts differ in configuration"}},
		{"kubeadm", func(c *testCluster) {
			c.configs["kubeadm-config"]["ClusterConfiguration"] = "kind: ClusterConfiguration\n"
		},
			[]string{"urgent|kubeadm||ConfigMap kubeadm-config does not name"}},
		{"certificate expired", func(c *testCluster) { c.certificates["cp1"][0].NotAfter = c.now },
			[]string{"urgent|certificates|cp1|certificate apiserver-client expired"}},
		{"certificate due", func(c *testCluster) { c.certificates["cp1"][0].Due = "it has 1h left" },
			[]string{"soon|certificates|cp1|certificate apiserver-client is due"}},
		{"certificates unknown", func(c *testCluster) { delete(c.certificates, "cp1") },
			[]string{"soon|certificates|cp1|not checked: certificates: container not found"}},
		{"certificates left out", func(c *testCluster) { c.noExec = true },
			[]string{"note|certificates|certificates|not checked: --no-certificates"}},
		{"restarts today", restarted(3, time.Hour),
			[]string{"soon|restarts|cp1|bulkhead-node-authorizer has restarted 3 times"}},
		{"fewer restarts", restarted(2, time.Hour), nil},
		{"restarts two days ago", restarted(3, 48*time.Hour), nil},
	})
}

func restarted(count int32, ago time.Duration) func(*testCluster) {
	return func(c *testCluster) {
		status := &c.pods["bulkhead-node-authorizer-cp1"].Status.ContainerStatuses[0]
		status.RestartCount = count
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(c.now.Add(-ago))}
	}
}
