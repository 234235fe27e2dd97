// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	podMirror = rules.Rule{
		ID:          "NR-POD-1",
		Description: "A node creates only mirror pods, which have the annotation kubernetes.io/config.mirror.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go admitPodCreate",
	}
	podOwned = rules.Rule{
		ID: "NR-POD-2",
		Description: "A mirror pod is bound to the node that creates it. It has exactly one owner, its " +
			"controller: the Node of that name and UID. It does not block the deletion of that Node.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitPodCreate",
	}
	podReferences = rules.Rule{
		ID: "NR-POD-3",
		Description: "A mirror pod refers to no service account, secret, config map or claim, and has no volume " +
			"of a kind that may use API objects.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitPodCreate; pkg/api/pod/util.go " +
			"HasAPIObjectReference; CVE-2025-4563",
	}
	podDelete = rules.Rule{
		ID:          "NR-POD-4",
		Description: "A node deletes only pods that are bound to it, one by one or as a collection.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go admitPod",
	}
	podUpdate = rules.Rule{
		ID:          "NR-POD-5",
		Description: "A node changes only the status of a pod. This includes its own mirror pods.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go admitPod",
	}
	podCap = rules.Rule{
		ID:          "NR-POD-10",
		Description: "A node has at most as many mirror pods as caps.mirrorPods in the configuration.",
		Source:      "Bulkhead: one node must not fill the cluster with objects",
		Extension:   true,
		Optional:    true,
	}
)

var podRules = []rules.Rule{
	podMirror, podOwned, podReferences, podDelete, podUpdate,
	podStatusBound, podStatusFields, podEviction, podSubresource, podCap,
	podMirrorScheduling, podMirrorVolumes,
}

func (r *Restriction) reviewPod(ctx context.Context, q *request) *rules.Decision {
	switch q.GetSubresource() {
	case "":
		return r.reviewWholePod(ctx, q)
	case "status":
		return r.reviewPodStatus(ctx, q)
	case "eviction":
		return r.reviewPodEviction(ctx, q)
	default:
		return q.forbid(podSubresource,
			fmt.Sprintf("unexpected pod subresource %q, only 'status' and 'eviction' are allowed", q.GetSubresource()))
	}
}

func (r *Restriction) reviewWholePod(ctx context.Context, q *request) *rules.Decision {
	switch q.GetOperation() {
	case admission.Create:
		return r.reviewPodCreate(ctx, q)
	case admission.Delete:
		return reviewPodDelete(q)
	default:
		return q.forbid(podUpdate,
			fmt.Sprintf("unexpected operation %q, node %q can only create and delete mirror pods", q.GetOperation(), q.node))
	}
}

// reviewPodCreate does not check labels such as topology.kubernetes.io/zone. The API server's
// plugin PodTopologyLabels adds them to pods that are created with a node name, before it calls the
// webhook. So the node may not have set them.
func (r *Restriction) reviewPodCreate(ctx context.Context, q *request) *rules.Decision {
	pod, ok := typed[corev1.Pod](q.GetObject())
	if !ok {
		return q.unexpected(podMirror, q.GetObject())
	}
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; !isMirror {
		return q.forbid(podMirror,
			fmt.Sprintf("pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey,
				q.node))
	}
	if refused := q.enforced(r.reviewPodOwner(ctx, q, pod)); refused != nil {
		return refused
	}
	if refused := q.enforced(reviewPodReferences(q, pod)); refused != nil {
		return refused
	}
	if refused := r.reviewMirrorPodSpec(q, pod); refused != nil {
		return refused
	}
	if refused := r.reviewMirrorPodMetadata(ctx, q, pod); refused != nil {
		return refused
	}
	return r.reviewCap(ctx, q, podCap, MirrorPods, q.caps().MirrorPods, "mirror pods")
}

func (r *Restriction) reviewPodOwner(ctx context.Context, q *request, pod *corev1.Pod) *rules.Decision {
	if pod.Spec.NodeName != q.node {
		return q.forbid(podOwned, fmt.Sprintf("node %q can only create pods with spec.nodeName set to itself", q.node))
	}
	if len(pod.OwnerReferences) > 1 {
		return q.forbid(podOwned,
			fmt.Sprintf("node %q can only create pods with a single owner reference set to itself", q.node))
	}
	if len(pod.OwnerReferences) == 0 {
		return q.forbid(podOwned, fmt.Sprintf("node %q can only create pods with an owner reference set to itself", q.node))
	}
	owner := &pod.OwnerReferences[0]
	if owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != q.node {
		return q.forbid(podOwned, fmt.Sprintf("node %q can only create pods with an owner reference set to itself", q.node))
	}
	if owner.Controller == nil || !*owner.Controller {
		return q.forbid(podOwned,
			fmt.Sprintf("node %q can only create pods with a controller owner reference set to itself", q.node))
	}
	if owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion {
		return q.forbid(podOwned, fmt.Sprintf("node %q must not set blockOwnerDeletion on an owner reference", q.node))
	}
	node, err := r.config.Cluster.Node(ctx, q.node)
	if err != nil {
		return q.notFoundOr(podOwned, err, fmt.Sprintf("error looking up node %s to verify uid: %v", q.node, err))
	}
	if owner.UID != node.UID {
		return q.forbid(podOwned, fmt.Sprintf("node %s UID mismatch: expected %s got %s", q.node, owner.UID, node.UID))
	}
	return nil
}

// reviewPodDelete uses the object that the API server is about to delete. Upstream's plugin runs
// before that object is read, and looks it up itself. So for a missing pod, the 404 comes from the
// API server here.
func reviewPodDelete(q *request) *rules.Decision {
	pod, ok := typed[corev1.Pod](q.GetOldObject())
	if !ok {
		return q.unexpected(podDelete, q.GetOldObject())
	}
	if pod.Spec.NodeName != q.node {
		return q.forbid(podDelete, fmt.Sprintf("node %q can only delete pods with spec.nodeName set to itself", q.node))
	}
	return nil
}

var (
	podEviction = rules.Rule{
		ID:          "NR-POD-8",
		Description: "A node evicts only pods that are bound to it.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go admitPodEviction",
	}
	podSubresource = rules.Rule{
		ID:          "NR-POD-9",
		Description: "Of the subresources of a pod, a node writes only the status and evictions.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go Admit",
	}
)

// reviewPodEviction uses the name in the request URL. It uses the name in the body only if the URL
// has none.
func (r *Restriction) reviewPodEviction(ctx context.Context, q *request) *rules.Decision {
	if q.GetOperation() != admission.Create {
		return q.forbid(podEviction, fmt.Sprintf("unexpected operation %s", q.GetOperation()))
	}
	eviction, ok := typed[policyv1.Eviction](q.GetObject())
	if !ok {
		return q.unexpected(podEviction, q.GetObject())
	}
	name := q.GetName()
	if name == "" {
		name = eviction.Name
	}
	if name == "" {
		return q.forbid(podEviction, "could not determine pod from request data")
	}
	pod, err := r.config.Cluster.Pod(ctx, q.GetNamespace(), name)
	if err != nil {
		return q.notFoundOr(podEviction, err, err.Error())
	}
	if pod.Spec.NodeName != q.node {
		return q.forbid(podEviction, fmt.Sprintf("node %s can only evict pods with spec.nodeName set to itself", q.node))
	}
	return nil
}
