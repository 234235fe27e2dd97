// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
)

// Server is kube-apiserver on this host.
type Server interface {
	// Ready passes if /readyz does.
	Ready(context.Context) error
	Version(context.Context) (string, error)
	// Process returns when the server started, and with which files it runs.
	Process(context.Context) (cluster.Process, error)
	// CanaryDecision returns the authorizers' answer about a request of a node.
	CanaryDecision(context.Context) (cluster.Decision, error)
	// ReportStatus writes a node's status as its kubelet does, as a dry run.
	ReportStatus(ctx context.Context, node string) error
}

// Objects reads and writes API objects. Get returns nil for an object that does not exist.
type Objects interface {
	Get(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	Apply(context.Context, *unstructured.Unstructured) error
	Delete(context.Context, *unstructured.Unstructured) error
}

// Kubeadm reads and writes the ClusterConfiguration of kubeadm. It is empty if there is none.
type Kubeadm interface {
	KubeadmConfig(context.Context) (string, error)
	SetKubeadmConfig(context.Context, string) error
}

// Namespaces reads and writes annotations: all, and the keys of those that Bulkhead has set.
type Namespaces interface {
	Annotations(ctx context.Context, namespace string) (all map[string]string, own []string, err error)
	SetAnnotations(ctx context.Context, namespace string, annotations map[string]string) error
}

// Nodes returns names of nodes.
type Nodes interface {
	// ComponentNodes are the nodes with a static pod of a component.
	ComponentNodes(ctx context.Context, component string) ([]string, error)
	ControlPlaneNodes(context.Context) ([]string, error)
	// ProxiedNodes are the nodes whose kubelet is behind kubelet-auth-proxy.
	ProxiedNodes(context.Context) ([]string, error)
}

// MirrorPods shows static pods. MirrorPod returns nil for one that does not exist.
type MirrorPods interface {
	MirrorPod(ctx context.Context, name, node string) (*corev1.Pod, error)
}
