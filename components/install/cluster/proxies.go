// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// proxyDaemonSet is defined in manifests/kubelet-auth-proxy.
const proxyDaemonSet = "bulkhead-kubelet-auth-proxy"

const (
	// kubeletTimeout bounds the time of one request to a kubelet. kubeletsAtOnce limits the kubelets that
	// are asked at one time.
	kubeletTimeout = 5 * time.Second
	kubeletsAtOnce = 16
	// maxCause bounds the text of an error, which can come from a kubelet. It is in bytes.
	maxCause = 512
)

// ProxiedNodes returns the nodes whose kubelets are behind kubelet-auth-proxy. They have a ready
// proxy, and their kubelet listens on loopback. A ready proxy can also be idle, so
// ProxiedNodes reads the configuration of these kubelets through the API server. A kubelet that
// cannot be asked counts as one behind its proxy. Its name is followed by the cause.
func (c *Client) ProxiedNodes(ctx context.Context) ([]string, error) {
	nodes, err := c.readyProxies(ctx)
	if err != nil {
		return nil, err
	}
	proxied := EachKubelet(nodes, func(node string) string {
		loopback, err := c.listensOnLoopback(ctx, node)
		switch {
		case err != nil:
			return fmt.Sprintf("%s (cannot ask its kubelet: %s)", node, webhook.Printable(err.Error(), maxCause))
		case loopback:
			return node
		}
		return ""
	})
	return slices.DeleteFunc(proxied, func(node string) bool { return node == "" }), ctx.Err()
}

// EachKubelet calls ask for each node, for at most 16 nodes at one time. The results are in the order of the
// nodes.
func EachKubelet[N, T any](nodes []N, ask func(N) T) []T {
	var group errgroup.Group
	group.SetLimit(kubeletsAtOnce)
	results := make([]T, len(nodes))
	for i, node := range nodes {
		group.Go(func() error {
			results[i] = ask(node)
			return nil
		})
	}
	_ = group.Wait() // there are no errors
	return results
}

// GetKubelet gets a path of a node's kubelet through the API server, within 5 s.
func (c *Client) GetKubelet(ctx context.Context, node, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, kubeletTimeout)
	defer cancel()
	return c.kubelet(ctx, node, path)
}

// Configz returns the running configuration of a node's kubelet, which it reads through the API server.
func (c *Client) Configz(ctx context.Context, node string) ([]byte, error) {
	return c.GetKubelet(ctx, node, "configz")
}

// listensOnLoopback reads the address of the kubelet from its running configuration.
func (c *Client) listensOnLoopback(ctx context.Context, node string) (bool, error) {
	data, err := c.Configz(ctx, node)
	if err != nil {
		return false, err
	}
	var running struct {
		KubeletConfig struct{ Address string }
	}
	if err := json.Unmarshal(data, &running); err != nil {
		return false, fmt.Errorf("reading its /configz: %w", err)
	}
	address := net.ParseIP(running.KubeletConfig.Address)
	if address == nil {
		return false, fmt.Errorf("its /configz has the address %q", running.KubeletConfig.Address)
	}
	return address.IsLoopback(), nil
}

// NodesWithout returns the nodes whose labels the selector does not match.
func (c *Client) NodesWithout(ctx context.Context, selector labels.Selector) ([]string, error) {
	nodes, err := c.Kubernetes.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	var left []string
	for i := range nodes.Items {
		if !selector.Matches(labels.Set(nodes.Items[i].Labels)) {
			left = append(left, nodes.Items[i].Name)
		}
	}
	slices.Sort(left)
	return left, nil
}

// readyProxies returns the nodes on which kubelet-auth-proxy is ready, idle or not.
func (c *Client) readyProxies(ctx context.Context) ([]string, error) {
	pods, err := c.Kubernetes.CoreV1().Pods(kubeSystem).List(ctx,
		metav1.ListOptions{LabelSelector: componentLabel + "kubelet-auth-proxy"})
	if err != nil {
		return nil, fmt.Errorf("listing pods of kubelet-auth-proxy: %w", err)
	}
	var nodes []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOf(pod)
		// Any user can set this label on a pod.
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
