// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// reviewPodCertificateNode has a node speak only for itself, and for the Node that
// there is now. UIDs that differ may be those of a Node that was just made.
func (r *Restriction) reviewPodCertificateNode(ctx context.Context, q *request, asked podCertificate) *rules.Decision {
	if string(asked.NodeName) != q.node {
		return q.forbid(podCertificateNode,
			fmt.Sprintf("PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", asked.NodeName, q.node))
	}
	node, err := r.config.Cluster.Node(ctx, q.node)
	if err != nil {
		return q.unlooked(podCertificateNode, "node", string(asked.NodeName), err)
	}
	if node.UID != asked.NodeUID {
		return q.retry(podCertificateNode,
			fmt.Sprintf("PodCertificateRequest for pod %q names node UID %q, inconsistent with the running node (%q)",
				asked.pod(), asked.NodeUID, node.UID))
	}
	return nil
}

// podOfPodCertificate returns the pod, which runs on the node.
func (r *Restriction) podOfPodCertificate(ctx context.Context, q *request, asked podCertificate) (*corev1.Pod,
	*rules.Decision) {
	pod, err := r.config.Cluster.Pod(ctx, q.GetNamespace(), asked.PodName)
	if err != nil {
		return nil, q.unlooked(podCertificatePod, "pod", asked.pod(), err)
	}
	if pod.UID != asked.PodUID {
		return nil, q.retry(podCertificatePod,
			fmt.Sprintf("PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q", asked.pod(),
				asked.PodUID, pod.UID))
	}
	if pod.Spec.NodeName != q.node {
		return nil, q.forbid(podCertificatePod,
			fmt.Sprintf("pod %q is not running on node %q named in the PodCertificateRequest", asked.pod(), asked.NodeName))
	}
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; isMirror {
		return nil, q.forbid(podCertificatePod, fmt.Sprintf("pod %q is a mirror pod", asked.pod()))
	}
	return pod, nil
}

func (r *Restriction) reviewPodCertificateAccount(ctx context.Context, q *request, pod *corev1.Pod,
	asked podCertificate) *rules.Decision {
	if pod.Spec.ServiceAccountName != asked.ServiceAccountName {
		return q.forbid(podCertificateAccount,
			fmt.Sprintf("PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)",
				asked.pod(), asked.ServiceAccountName, pod.Spec.ServiceAccountName))
	}
	account, err := r.config.Cluster.ServiceAccount(ctx, q.GetNamespace(), asked.ServiceAccountName)
	if err != nil {
		return q.unlooked(podCertificateAccount, "service account", q.GetNamespace()+"/"+asked.ServiceAccountName, err)
	}
	if account.UID != asked.ServiceAccountUID {
		return q.retry(podCertificateAccount,
			fmt.Sprintf("PodCertificateRequest for pod %q names service account UID %q, which differs from the running "+
				"service account (%q)", asked.pod(), asked.ServiceAccountUID, account.UID))
	}
	return nil
}

func (r *Restriction) reviewPodCertificateSigner(ctx context.Context, q *request, pod *corev1.Pod,
	asked podCertificate) *rules.Decision {
	if projectsCertificateOf(pod, asked.SignerName) {
		return nil
	}
	// RBAC takes what follows a slash for a subresource.
	resource := strings.ReplaceAll(asked.SignerName, "/", ":")
	granted, err := r.granted(ctx, q, "request-serviceaccounts-podcertificate-signer", resource, asked.ServiceAccountName)
	if granted {
		return nil
	}
	if err != nil {
		return q.forbid(podCertificateSigner,
			fmt.Sprintf("error authorizing %s to request podcertificaterequests for signer %q: %v", q.GetUserInfo().GetName(),
				asked.SignerName, err))
	}
	return q.forbid(podCertificateSigner,
		fmt.Sprintf("pod %q does not mount a podCertificate projected volume for signer %q", asked.pod(), asked.SignerName))
}

func projectsCertificateOf(pod *corev1.Pod, signer string) bool {
	for i := range pod.Spec.Volumes {
		projected := pod.Spec.Volumes[i].Projected
		if projected == nil {
			continue
		}
		for j := range projected.Sources {
			if certificate := projected.Sources[j].PodCertificate; certificate != nil && certificate.SignerName == signer {
				return true
			}
		}
	}
	return false
}
