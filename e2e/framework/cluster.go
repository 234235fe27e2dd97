// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/e2e-framework/klient/k8s/resources"
)

// FakeNodeLabel marks Node objects that a spec made. They have no kubelet.
const FakeNodeLabel = "e2e.bulkhead.dev/fake"

// Cluster is the cluster under test. It acts as the administrator.
type Cluster struct {
	Settings Settings
	// Client and Objects act as the administrator, without rate limits.
	Client  kubernetes.Interface
	Objects *resources.Resources
	Host    *Host
	// ControlPlane is a node with a kube-apiserver, Worker a node without one. Worker is empty if
	// all nodes are control planes.
	ControlPlane, Worker string

	config *rest.Config
	// sides is the number of second proxies that this process started.
	sides int
	// namespaces are the names of the namespaces that this process made.
	namespaces []string
}

// Connect connects to the cluster in the settings and selects its nodes.
func Connect(ctx context.Context, s Settings) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.Kubeconfig, err)
	}
	config.QPS = -1
	config.Timeout = requestTimeout
	config.UserAgent = "bulkhead-e2e"
	c := &Cluster{Settings: s, config: config, ControlPlane: s.ControlPlane, Worker: s.Worker}
	if c.Client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if c.Objects, err = resources.New(config); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if err := c.findNodes(ctx); err != nil {
		return nil, err
	}
	c.Host, err = newHost(ctx, s, c.ControlPlane)
	return c, err
}

func (c *Cluster) findNodes(ctx context.Context) error {
	list, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "!" + FakeNodeLabel})
	if err != nil {
		return fmt.Errorf("finding nodes: %w", err)
	}
	for i := range list.Items {
		node := &list.Items[i]
		_, isControlPlane := node.Labels["node-role.kubernetes.io/control-plane"]
		switch {
		case isControlPlane && c.ControlPlane == "":
			c.ControlPlane = node.Name
		case !isControlPlane && c.Worker == "" && IsReady(node):
			c.Worker = node.Name
		}
	}
	if c.ControlPlane == "" {
		return fmt.Errorf("none of %d nodes is a control plane: set E2E_CONTROL_PLANE", len(list.Items))
	}
	return nil
}

// IsReady reports whether the node has the condition Ready.
func IsReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
