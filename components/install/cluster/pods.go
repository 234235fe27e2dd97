// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// authorizerPods is the label in manifests/node-authorizer/static-pod.yaml.
const authorizerPods = "app.kubernetes.io/name=node-authorizer"

// AuthorizerNodes are the nodes that run the node authorizer as a static pod:
// they need what is shared in the API.
func (c *Client) AuthorizerNodes(ctx context.Context) ([]string, error) {
	pods, err := c.Kubernetes.CoreV1().Pods(kubeSystem).List(ctx, metav1.ListOptions{LabelSelector: authorizerPods})
	if err != nil {
		return nil, fmt.Errorf("listing node authorizers: %w", err)
	}
	var nodes []string
	for i := range pods.Items {
		// Any pod can carry the label; only a kubelet makes a mirror of a static one.
		if _, mirror := pods.Items[i].Annotations[corev1.MirrorPodAnnotationKey]; mirror {
			nodes = append(nodes, pods.Items[i].Spec.NodeName)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}

// MirrorPod is what the kubelet of node tells about a static pod in kube-system,
// nil if it tells nothing.
func (c *Client) MirrorPod(ctx context.Context, name, node string) (*corev1.Pod, error) {
	pod, err := c.Kubernetes.CoreV1().Pods(kubeSystem).Get(ctx, name+"-"+node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return pod, err
}
