// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// proxyProcess finds the process of a node's proxy on its host, and kubeletProcess finds the
	// kubelet.
	proxyProcess   = `pgrep -f '^/kubelet-auth-proxy .*--health-port=10466'`
	kubeletProcess = "pgrep -x kubelet"
	// proxyReady succeeds on the host of a node whose proxy is ready on the kubelet's port.
	proxyReady = "curl --silent --show-error --fail --max-time 5 http://127.0.0.1:10466/readyz"
	// proxyIdle succeeds on the host of a node whose proxy is idle.
	proxyIdle = "curl --silent --show-error --fail --max-time 5 http://127.0.0.1:10466/metrics | " +
		"grep '^bulkhead_kubelet_proxy_idle 1$'"
)

// onWorker runs a script on the worker's host. The script must succeed.
func onWorker(ctx context.Context, script string) string {
	GinkgoHelper()
	return must(suite.Host.Run(ctx, suite.Worker, script))
}

// eventuallyOnWorker repeats a script until it succeeds.
func eventuallyOnWorker(ctx context.Context, within time.Duration, script string) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		_, err := suite.Host.Run(ctx, suite.Worker, script)
		return err
	}).WithTimeout(within).WithPolling(200 * time.Millisecond).Should(Succeed())
}

// expectNodeReady waits until the worker is Ready. A kubelet that has just started is not, until it has
// its CSINode.
func expectNodeReady(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() (bool, error) {
		node, err := suite.Client.CoreV1().Nodes().Get(ctx, suite.Worker, metav1.GetOptions{})
		return err == nil && IsReady(node), err
	}).WithTimeout(NodeReady).WithPolling(time.Second).Should(BeTrue(), "%s is Ready", suite.Worker)
}

// waitSystem waits until the pods of kube-system that a drain may evict are ready.
func waitSystem(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) {
		list, err := suite.Client.CoreV1().Pods(systemNamespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		var waiting []string
		for i := range list.Items {
			// A DaemonSet also has pods for Nodes without a kubelet. A drain ignores these pods.
			owner := metav1.GetControllerOf(&list.Items[i])
			if (owner == nil || owner.Kind != "DaemonSet") && !isReady(&list.Items[i]) {
				waiting = append(waiting, list.Items[i].Name)
			}
		}
		return waiting, nil
	}).WithTimeout(kubeletRestartTimeout).WithPolling(time.Second).Should(BeEmpty())
}
