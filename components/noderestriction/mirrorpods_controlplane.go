// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var mirrorControlPlane = rules.Rule{
	ID: "NR-MIRROR-6",
	Description: "While MirrorPodNodeRestriction is on, a mirror pod has the label tier=control-plane or an " +
		"annotation under kubeadm.kubernetes.io/ only if its Node has the label " +
		"node-role.kubernetes.io/control-plane. kubeadm takes such a pod for a member of etcd or for an API server, " +
		"and connects to the address in its annotation.",
	Source: "Bulkhead: cmd/kubeadm/app/util/etcd/etcd.go getRawEtcdEndpointsFromPodAnnotation and " +
		"cmd/kubeadm/app/util/config/cluster.go getRawAPIEndpointFromPodAnnotation list pods by label, and look at no Node",
	Extension: true, Configured: true,
}

const (
	// controlPlaneRole is the label that `kubeadm join --control-plane` sets on the Node at its end. Until
	// then the kubelet retries its mirror pods.
	controlPlaneRole = "node-role.kubernetes.io/control-plane"
	// tierLabel and controlPlaneTier are the label by which kubeadm finds static pods (cmd/kubeadm/app/constants).
	tierLabel, controlPlaneTier = "tier", "control-plane"
	kubeadmPrefix               = "kubeadm.kubernetes.io/"
)

// checkControlPlane looks up the Node only for a pod that kubeadm would trust.
func (r *Restriction) checkControlPlane(ctx context.Context, q *request, policy *configuration.MirrorPods,
	pod *corev1.Pod) *rules.Decision {
	mark := controlPlaneMark(pod)
	if mark == "" {
		return nil
	}
	node, err := r.config.Cluster.Node(ctx, q.node)
	if err != nil && !apierrors.IsNotFound(err) {
		return policyOn(q, policy, q.raw(mirrorControlPlane, err))
	}
	if err == nil {
		if _, has := node.Labels[controlPlaneRole]; has {
			return nil
		}
	}
	return policyOn(q, policy, q.forbid(mirrorControlPlane,
		fmt.Sprintf("node %q can only create mirror pods with %s if its Node has the label %s", q.node, mark,
			controlPlaneRole)))
}

// controlPlaneMark returns what kubeadm would trust in the pod.
func controlPlaneMark(pod *corev1.Pod) string {
	if pod.Labels[tierLabel] == controlPlaneTier {
		return "the label " + tierLabel + "=" + controlPlaneTier
	}
	for key := range pod.Annotations {
		if strings.HasPrefix(key, kubeadmPrefix) {
			return "an annotation under " + kubeadmPrefix
		}
	}
	return ""
}
