// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	systemNamespace = metav1.NamespaceSystem
	proxySelector   = "app.kubernetes.io/name=kubelet-auth-proxy,app.kubernetes.io/part-of=bulkhead"
)

// proxyOf returns the pod of a node's proxy that is not being deleted.
func proxyOf(ctx context.Context, node string) (*corev1.Pod, error) {
	list, err := suite.Client.CoreV1().Pods(systemNamespace).List(ctx, metav1.ListOptions{
		LabelSelector: proxySelector, FieldSelector: "spec.nodeName=" + node,
	})
	if err != nil {
		return nil, fmt.Errorf("listing proxies: %w", err)
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			return &list.Items[i], nil
		}
	}
	return nil, fmt.Errorf("no proxy on %s", node)
}

// portOf returns the kubelet port of a node.
func portOf(ctx context.Context, node string) *Port {
	GinkgoHelper()
	return must(suite.KubeletPort(ctx, node))
}

// linesAbout returns the audit lines of a node's proxy about the pods of a namespace.
func linesAbout(ctx context.Context, node, namespace string) ([]KubeletLine, error) {
	port, err := suite.KubeletPort(ctx, node)
	if err != nil {
		return nil, err
	}
	return suite.KubeletLines(ctx, port, fmt.Sprintf(`"namespace":%q`, namespace))
}
