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

// componentLabel is in the manifests of our static pods.
const componentLabel = "app.kubernetes.io/name="

// ComponentNodes are the nodes that run one of our components as a static pod: they
// need what is shared in the API.
func (c *Client) ComponentNodes(ctx context.Context, component string) ([]string, error) {
	pods, err := c.Kubernetes.CoreV1().Pods(kubeSystem).List(ctx,
		metav1.ListOptions{LabelSelector: componentLabel + component})
	if err != nil {
		return nil, fmt.Errorf("listing pods of the %s: %w", component, err)
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

// ControlPlaneNodes are the nodes that run a kube-apiserver, by kubeadm's label.
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

// proxyDaemonSet is in manifests/kubelet-auth-proxy.
const proxyDaemonSet = "bulkhead-kubelet-auth-proxy"

// ProxiedNodes are the nodes on which kubelet-auth-proxy is ready: it has the kubelet's
// port then.
func (c *Client) ProxiedNodes(ctx context.Context) ([]string, error) {
	pods, err := c.Kubernetes.CoreV1().Pods(kubeSystem).List(ctx,
		metav1.ListOptions{LabelSelector: componentLabel + "kubelet-auth-proxy"})
	if err != nil {
		return nil, fmt.Errorf("listing pods of kubelet-auth-proxy: %w", err)
	}
	var nodes []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOf(pod)
		// Any pod can carry the label.
		if owner != nil && owner.Kind == "DaemonSet" && owner.Name == proxyDaemonSet && ready(pod) {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// MirrorPods are all static pods of the cluster, as their kubelets tell of them.
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

// MirrorPod is what the kubelet of node tells about a static pod in kube-system,
// nil if it tells nothing.
func (c *Client) MirrorPod(ctx context.Context, name, node string) (*corev1.Pod, error) {
	pod, err := c.Kubernetes.CoreV1().Pods(kubeSystem).Get(ctx, name+"-"+node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return pod, err
}
