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

// componentLabel is the label of Bulkhead's static pods.
const componentLabel = "app.kubernetes.io/name="

// ComponentNodes returns the nodes that run a component of Bulkhead as a static pod. These nodes
// need the shared API objects.
func (c *Client) ComponentNodes(ctx context.Context, component string) ([]string, error) {
	pods, err := c.Kubernetes.CoreV1().Pods(kubeSystem).List(ctx,
		metav1.ListOptions{LabelSelector: componentLabel + component})
	if err != nil {
		return nil, fmt.Errorf("listing pods of the %s: %w", component, err)
	}
	var nodes []string
	for i := range pods.Items {
		// Any user can set this label on a pod. Only a kubelet creates the mirror pod of a static
		// pod.
		if _, mirror := pods.Items[i].Annotations[corev1.MirrorPodAnnotationKey]; mirror {
			nodes = append(nodes, pods.Items[i].Spec.NodeName)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}

// ControlPlaneNodes returns the nodes with kubeadm's control-plane label. They run a
// kube-apiserver.
func (c *Client) ControlPlaneNodes(ctx context.Context) ([]string, error) {
	nodes, err := c.Kubernetes.CoreV1().Nodes().List(ctx,
		metav1.ListOptions{LabelSelector: "node-role.kubernetes.io/control-plane"})
	if err != nil {
		return nil, fmt.Errorf("listing control-plane nodes: %w", err)
	}
	var names []string
	for i := range nodes.Items {
		names = append(names, nodes.Items[i].Name)
	}
	slices.Sort(names)
	return names, nil
}

// MirrorPods returns the mirror pods of all static pods in the cluster.
func (c *Client) MirrorPods(ctx context.Context) ([]corev1.Pod, error) {
	pods, err := c.Kubernetes.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
		return !mirror
	}), nil
}

// MirrorPod returns the mirror pod of a static pod in kube-system on a node, or nil if there is
// none.
func (c *Client) MirrorPod(ctx context.Context, name, node string) (*corev1.Pod, error) {
	pod, err := c.Kubernetes.CoreV1().Pods(kubeSystem).Get(ctx, name+"-"+node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return pod, err
}
