// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
)

// Server is kube-apiserver on this host.
type Server interface {
	// Ready succeeds if /readyz does.
	Ready(context.Context) error
	Version(context.Context) (string, error)
	// Process returns the start time of the server and the files with which it runs.
	Process(context.Context) (cluster.Process, error)
	// CanaryDecision returns the authorizers' decision about a request of a node.
	CanaryDecision(context.Context) (cluster.Decision, error)
	// ReportStatus writes a node's status as its kubelet does, with dry run.
	ReportStatus(ctx context.Context, node string) error
}

// Objects reads and writes API objects. Get returns nil for an object that does not exist.
type Objects interface {
	Get(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	Apply(context.Context, *unstructured.Unstructured) error
	Delete(context.Context, *unstructured.Unstructured) error
}

// Kubeadm reads and edits the ClusterConfiguration of kubeadm. It is empty if there is none.
type Kubeadm interface {
	KubeadmConfig(context.Context) (string, error)
	// EditKubeadmConfig replaces the ClusterConfiguration by what edit returns for it. If another
	// program writes it at the same time, edit is called again. It is not called if there is none.
	EditKubeadmConfig(ctx context.Context, edit func(string) (string, error)) (changed bool, err error)
}

// Namespaces reads and writes annotations of a namespace. all has every annotation. own has the
// keys that Bulkhead has set.
type Namespaces interface {
	Annotations(ctx context.Context, namespace string) (all map[string]string, own []string, err error)
	SetAnnotations(ctx context.Context, namespace string, annotations map[string]string) error
}

// Nodes returns names of nodes.
type Nodes interface {
	// ComponentNodes returns the nodes with a static pod of a component.
	ComponentNodes(ctx context.Context, component string) ([]string, error)
	ControlPlaneNodes(context.Context) ([]string, error)
	// ProxiedNodes returns the nodes whose kubelet is behind kubelet-auth-proxy.
	ProxiedNodes(context.Context) ([]string, error)
	// NodesWithout returns the nodes whose labels the selector does not match.
	NodesWithout(context.Context, labels.Selector) ([]string, error)
}

// MirrorPods reads mirror pods. MirrorPod returns nil if the pod does not exist.
type MirrorPods interface {
	MirrorPod(ctx context.Context, name, node string) (*corev1.Pod, error)
}
