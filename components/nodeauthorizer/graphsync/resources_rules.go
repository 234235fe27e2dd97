// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync/lean"
)

// The resources below are those that one optional rule each is decided from.

func nodesOf(client kubernetes.Interface, g *graph.Graph) resource {
	return resource{
		name: Nodes, example: &corev1.Node{}, source: everything(coreOf(client, lean.Nodes).Nodes()),
		into: typed[*corev1.Node]{
			set: g.SetNode, remove: unnamespaced(g.DeleteNode), replace: g.ReplaceNodes, trim: graph.TrimNode,
		},
	}
}

func signingRequestsOf(client kubernetes.Interface, g *graph.Graph) resource {
	return resource{
		name: CertificateSigningRequests, example: &certificatesv1.CertificateSigningRequest{},
		source: everything(certificatesOf(client, lean.CertificateSigningRequests).CertificateSigningRequests()),
		into: typed[*certificatesv1.CertificateSigningRequest]{
			set:     g.SetCertificateSigningRequest,
			remove:  unnamespaced(g.DeleteCertificateSigningRequest),
			replace: g.ReplaceCertificateSigningRequests,
			trim:    graph.TrimCertificateSigningRequest,
		},
	}
}

func claimsOf(client kubernetes.Interface, g *graph.Graph) resource {
	return resource{
		name: PersistentVolumeClaims, example: &corev1.PersistentVolumeClaim{},
		source: everything(coreOf(client, lean.PersistentVolumeClaims).PersistentVolumeClaims(metav1.NamespaceAll)),
		into: typed[*corev1.PersistentVolumeClaim]{
			set:     g.SetPersistentVolumeClaim,
			remove:  g.DeletePersistentVolumeClaim,
			replace: g.ReplacePersistentVolumeClaims,
			trim:    graph.TrimPersistentVolumeClaim,
		},
	}
}
