// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var mirrorName = rules.Rule{
	ID: "NR-MIRROR-5",
	Description: "While MirrorPodNodeRestriction is on, the name of a mirror pod ends in the name of its node, " +
		"and the pod has no finalizers. So it cannot take a name of another node's mirror pod, and disappears " +
		"when it is deleted.",
	Source:    "Bulkhead; pkg/kubelet/config/common.go generatePodName",
	Extension: true, Configured: true,
}

// checkMirrorName cannot distinguish the static pod "b-a" of the node "c" from the static pod "b"
// of the node "a-c". So it does not protect a node from another node whose name is the end of its
// own name.
func checkMirrorName(q *request, pod *corev1.Pod) *rules.Decision {
	if strings.HasSuffix(pod.Name, "-"+strings.ToLower(q.node)) && len(pod.Finalizers) == 0 {
		return nil
	}
	return q.forbid(mirrorName,
		fmt.Sprintf("node %q can only create mirror pods whose names end in -%s and that have no finalizers", q.node,
			strings.ToLower(q.node)))
}

// refusedAnnotationKeys is the audit annotation that lists the denied annotations.
const refusedAnnotationKeys = "refused-annotation-keys"

// mirrorAnnotation reports whether KEP-1314 lists the annotation. Kubernetes no longer reads some
// of them. It also accepts the annotation of the API server's plugin LimitRanger. The plugin runs
// before webhooks and annotates every pod that it sets a default on.
func mirrorAnnotation(key string) bool {
	switch key {
	case corev1.MirrorPodAnnotationKey, "kubernetes.io/config.hash", "kubernetes.io/config.seen",
		"kubernetes.io/config.source",
		"podpreset.admission.kubernetes.io/exclude",
		"seccomp.security.alpha.kubernetes.io/pod",
		"scheduler.alpha.kubernetes.io/preferAvoidPods",
		"node.kubernetes.io/bootstrap-checkpoint",
		"kubernetes.io/limit-ranger":
		return true
	}
	return strings.HasPrefix(key, "container.seccomp.security.alpha.kubernetes.io/") ||
		strings.HasPrefix(key, "container.apparmor.security.beta.kubernetes.io/") ||
		strings.HasPrefix(key, unrestrictedPrefix)
}

func checkMirrorAnnotations(q *request, policy *configuration.MirrorPods, pod *corev1.Pod) *rules.Decision {
	var refused []string
	for key := range pod.Annotations {
		if !mirrorAnnotation(key) && (policy.AllowedAnnotations == nil || !policy.AllowedAnnotations.Has(key)) {
			refused = append(refused, key)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	q.annotate(refusedAnnotationKeys, refused)
	return q.forbid(mirrorAnnotations,
		fmt.Sprintf("node %q must not create mirror pods with the following annotations: %s", q.node, someOf(refused)))
}

const (
	// unrestrictedPrefix is the prefix of label and annotation keys that no component may trust.
	unrestrictedPrefix = "unrestricted.node.kubernetes.io/"
	// refusedLabelKeys is the audit annotation that lists the denied labels.
	refusedLabelKeys = "refused-label-keys"
)

func checkDeniedLabels(q *request, policy *configuration.MirrorPods, pod *corev1.Pod) *rules.Decision {
	var denied []string
	for key := range pod.Labels {
		if policy.DeniedLabelKeys.Has(key) {
			denied = append(denied, key)
		}
	}
	if len(denied) == 0 {
		return nil
	}
	q.annotate(refusedLabelKeys, denied)
	return q.forbid(mirrorDeniedLabels,
		fmt.Sprintf("node %q must not create mirror pods with the following labels: %s", q.node, someOf(denied)))
}

func (r *Restriction) checkMirrorLabels(ctx context.Context, q *request, policy *configuration.MirrorPods,
	namespace *corev1.Namespace, pod *corev1.Pod) *rules.Decision {
	listed := listedKeys(namespace)
	var unlisted, topology []string
	for key := range pod.Labels {
		switch {
		case listed[key], policy.AllowedLabelKeys.Has(key),
			policy.UnrestrictedPrefix && strings.HasPrefix(key, unrestrictedPrefix):
		case policy.DeniedLabelKeys.Has(key) && (q.auditOnly || policy.Gate == configuration.Warn):
			// checkDeniedLabels has already reported it.
		case key == corev1.LabelTopologyZone || key == corev1.LabelTopologyRegion:
			topology = append(topology, key)
		default:
			unlisted = append(unlisted, key)
		}
	}
	if len(topology) > 0 {
		others, err := r.othersTopology(ctx, q, pod, topology)
		if err != nil {
			return q.raw(mirrorLabels, err)
		}
		unlisted = append(unlisted, others...)
	}
	if len(unlisted) == 0 {
		return nil
	}
	q.annotate(refusedLabelKeys, unlisted)
	return q.forbid(mirrorLabels,
		fmt.Sprintf("node %q can only create mirror pods with labels that the annotation %s of namespace %q lists, and it "+
			"does not list %s",
			q.node, mirrorLabelKeys, q.GetNamespace(), someOf(unlisted)))
}

// othersTopology returns the topology keys for which the pod's value differs from that of its node.
// The API server copies a node's topology labels to its pod before it calls the webhook.
func (r *Restriction) othersTopology(ctx context.Context, q *request, pod *corev1.Pod, keys []string) (others []string,
	err error) {
	node, err := r.config.Cluster.Node(ctx, q.node)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if value, has := node.Labels[key]; !has || value != pod.Labels[key] {
			others = append(others, key)
		}
	}
	return others, nil
}

// listedKeys returns the label keys that a namespace allows. A "*" has no special meaning.
func listedKeys(namespace *corev1.Namespace) map[string]bool {
	listed := map[string]bool{}
	for key := range strings.SplitSeq(namespace.Annotations[mirrorLabelKeys], ",") {
		if key = strings.TrimSpace(key); key != "" {
			listed[key] = true
		}
	}
	return listed
}
