// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestKubelets(t *testing.T) {
	testRows(t, []row{
		{"20 nodes without a proxy: one finding", func(c *testCluster) {
			for i := range 20 {
				c.addNode(fmt.Sprintf("x%02d", i))
			}
			c.proxied = []string{"cp1", "cp2", "w1"}
		},
			[]string{"urgent|kubelets|x00,x01,x02,x03,x04,x05,x06,x07,x08,x09,x10,x11,x12,x13,x14,x15,x16,x17,x18,x19|the"}},
		{"kubelets that do not answer", func(c *testCluster) { c.proxied = []string{"cp1", "cp2 (timeout)", "w1 (refused)"} },
			[]string{"soon|kubelets|cp2,w1|not checked: the kubelet does not answer"}},
		{"not verified, no DaemonSet: as chosen", func(c *testCluster) {
			c.daemonSet, c.proxied = nil, nil
			c.entries["cp1"].VerifyKubelets, c.entries["cp2"].VerifyKubelets = false, false
		}, []string{"note|kubelets||no kubelet is guarded"}},
		{"rollout not finished", func(c *testCluster) { c.daemonSet.Status.UpdatedNumberScheduled = 2 },
			[]string{"soon|rollout||the rollout of kubelet-auth-proxy is not finished: 2 of 3"}},
		{"last change not seen", func(c *testCluster) { c.daemonSet.Generation = 2 },
			[]string{"soon|rollout||the rollout of kubelet-auth-proxy is not finished: 3 of 3"}},
		{"proxy not ready", func(c *testCluster) {
			c.daemonSet.Status.NumberReady = 2
			c.pods["proxy-w1"].Status.Conditions = nil
		}, []string{"urgent|rollout|w1|kubelet-auth-proxy is not ready"}},
		{"request waits", request(6 * time.Minute),
			[]string{"soon|requests|w1|a request for a kubelet's serving certificate waits"}},
		{"new request", request(4 * time.Minute), nil},
		{"request approved, but not signed", request(6*time.Minute, certificatesv1.CertificateApproved),
			[]string{"soon|requests|csr1|a request for a kubelet's serving certificate is approved"}},
		{"request denied", request(6*time.Minute, certificatesv1.CertificateDenied), nil},
	})
}

func request(age time.Duration, conditions ...certificatesv1.RequestConditionType) func(*testCluster) {
	return func(c *testCluster) {
		r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr1",
			CreationTimestamp: metav1.NewTime(c.now.Add(-age))}, Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:w1", Groups: []string{"system:nodes"}}}
		for _, condition := range conditions {
			r.Status.Conditions = append(r.Status.Conditions,
				certificatesv1.CertificateSigningRequestCondition{Type: condition})
		}
		c.more = append(c.more, r)
	}
}
