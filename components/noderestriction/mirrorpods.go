// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The annotations in which a namespace says which mirror pods it accepts. Nodes cannot write
// namespaces.
const (
	mirrorAllowed   = "node.kubernetes.io/mirror.allowed"
	mirrorLabelKeys = "node.kubernetes.io/mirror.allowed-label-keys"
)

var (
	mirrorNamespace = rules.Rule{
		ID: "NR-MIRROR-1",
		Description: "While MirrorPodNodeRestriction and requireNamespaceAnnotation are on, a node creates mirror " +
			"pods only in a namespace with the annotation node.kubernetes.io/mirror.allowed. The value \"false\" counts as " +
			"no annotation.",
		Source:    "KEP-1314, Restrict namespaces",
		Extension: true, Configured: true,
	}
	mirrorLabels = rules.Rule{
		ID: "NR-MIRROR-2",
		Description: "While MirrorPodNodeRestriction is on, a mirror pod has only labels with keys that its " +
			"namespace lists in the annotation node.kubernetes.io/mirror.allowed-label-keys, the Node's own " +
			"topology.kubernetes.io/zone and region, and keys that the operator allows in every namespace " +
			"(allowedLabelKeys, and with allowUnrestrictedPrefix those under unrestricted.node.kubernetes.io/).",
		Source: "KEP-1314, Label Restrictions, Whitelist prefix and Whitelist configuration; the topology labels are put " +
			"there by kube-apiserver's plugin PodTopologyLabels",
		Extension: true, Configured: true,
	}
	mirrorDeniedLabels = rules.Rule{
		ID: "NR-MIRROR-3",
		Description: "While MirrorPodNodeRestriction is on, a mirror pod has no label with a key that the " +
			"operator denies (default k8s-app), even if its namespace lists the key.",
		Source:    "KEP-1314, Label Restrictions and Blacklist labels",
		Extension: true, Configured: true,
	}
	mirrorAnnotations = rules.Rule{
		ID: "NR-MIRROR-4",
		Description: "While MirrorPodNodeRestriction is on, a mirror pod has only the annotations that KEP-1314 " +
			"names, those under unrestricted.node.kubernetes.io/, those that the operator allows, and the one " +
			"that kube-apiserver's plugin LimitRanger adds.",
		Source:    "KEP-1314, Annotation Restrictions; plugin/pkg/admission/limitranger/admission.go",
		Extension: true, Configured: true,
	}
)

var mirrorPodRules = []rules.Rule{mirrorNamespace, mirrorLabels, mirrorDeniedLabels, mirrorAnnotations, mirrorName,
	mirrorControlPlane}

// reviewMirrorPodMetadata checks the rules of KEP-1314 for a new mirror pod that upstream's rules
// admit. It denies a label or annotation that is not allowed, and does not remove it. A kubelet
// retries a denied mirror pod, and succeeds once the namespace lists the key. Checks that need no
// API call come first.
func (r *Restriction) reviewMirrorPodMetadata(ctx context.Context, q *request, pod *corev1.Pod) *rules.Decision {
	if q.configuration == nil || q.configuration.MirrorPods.Gate == configuration.Off {
		return nil
	}
	policy := &q.configuration.MirrorPods
	if refused := policyOn(q, policy, checkMirrorName(q, pod)); refused != nil {
		return refused
	}
	if refused := policyOn(q, policy, checkDeniedLabels(q, policy, pod)); refused != nil {
		return refused
	}
	if refused := policyOn(q, policy, checkMirrorAnnotations(q, policy, pod)); refused != nil {
		return refused
	}
	if refused := r.checkControlPlane(ctx, q, policy, pod); refused != nil {
		return refused
	}
	if !policy.RequireNamespace && len(pod.Labels) == 0 {
		return nil
	}
	return r.reviewMirrorNamespace(ctx, q, policy, pod)
}

func (r *Restriction) reviewMirrorNamespace(ctx context.Context, q *request, policy *configuration.MirrorPods,
	pod *corev1.Pod) *rules.Decision {
	namespace, err := r.config.Cluster.Namespace(ctx, q.GetNamespace())
	if err != nil {
		var refused *rules.Decision
		if policy.RequireNamespace {
			refused = policyOn(q, policy, q.raw(mirrorNamespace, err))
		}
		if refused == nil && len(pod.Labels) > 0 {
			refused = policyOn(q, policy, q.raw(mirrorLabels, err))
		}
		return refused
	}
	if policy.RequireNamespace {
		if value, has := namespace.Annotations[mirrorAllowed]; !has || value == "false" {
			refused := q.forbid(mirrorNamespace,
				fmt.Sprintf("node %q can only create mirror pods in namespaces that have the annotation %s, and %q does not",
					q.node, mirrorAllowed, q.GetNamespace()))
			if refused := policyOn(q, policy, refused); refused != nil {
				return refused
			}
		}
	}
	return policyOn(q, policy, r.checkMirrorLabels(ctx, q, policy, namespace, pod))
}

// policyOn applies the gate's mode to a denial. In the mode Warn, the write is admitted: the caller
// gets a warning, and the denial is reported as audited.
func policyOn(q *request, policy *configuration.MirrorPods, refused *rules.Decision) *rules.Decision {
	if refused == nil || policy.Gate != configuration.Warn {
		return q.enforced(refused)
	}
	q.warnings = append(q.warnings, "to be refused: "+refused.Status.Message)
	q.audit(refused)
	return nil
}

// A mirror pod only represents what a kubelet already runs. But the control plane reads its spec
// like the spec of every other pod.
var (
	podMirrorScheduling = rules.Rule{
		ID: "NR-POD-11",
		Description: "A mirror pod has no pod affinity, no pod anti-affinity and no scheduling group: the " +
			"scheduler would apply them to the pods of other nodes.",
		Source: "Bulkhead: pkg/scheduler/framework/plugins/interpodaffinity applies the anti-affinity of a pod that runs " +
			"to every pod that is scheduled; " +
			"upstream does not look at it",
		Extension: true,
		Optional:  true,
	}
	podMirrorVolumes = rules.Rule{
		ID: "NR-POD-12",
		Description: "A mirror pod has only volumes that a kubelet provides by itself: hostPath, emptyDir, " +
			"downwardAPI, image, nfs and a projection of downwardAPI. For other kinds, kube-controller-manager " +
			"would attach the named disk to the node.",
		Source: "Bulkhead: pkg/controller/volume/attachdetach/util/util.go ProcessPodVolumes attaches the disks of all " +
			"pods that have a node, also of volumes in the pod; " +
			"upstream refuses references to objects of the API only",
		Extension: true,
		Optional:  true,
	}
)

// reviewMirrorPodSpec denies a mirror pod whose spec makes other components than the kubelet act.
func (r *Restriction) reviewMirrorPodSpec(q *request, pod *corev1.Pod) *rules.Decision {
	if refused := r.optional(q, podMirrorScheduling,
		func() *rules.Decision { return checkMirrorScheduling(q, &pod.Spec) }); refused != nil {
		return refused
	}
	return r.optional(q, podMirrorVolumes, func() *rules.Decision { return checkMirrorVolumes(q, &pod.Spec) })
}

func checkMirrorScheduling(q *request, spec *corev1.PodSpec) *rules.Decision {
	var noun string
	switch {
	case spec.Affinity != nil && spec.Affinity.PodAntiAffinity != nil:
		noun = "podAntiAffinity"
	case spec.Affinity != nil && spec.Affinity.PodAffinity != nil:
		noun = "podAffinity"
	case spec.SchedulingGroup != nil:
		noun = "a schedulingGroup"
	default:
		return nil
	}
	return q.forbid(podMirrorScheduling, fmt.Sprintf("node %q cannot create mirror pods with %s", q.node, noun))
}

func checkMirrorVolumes(q *request, spec *corev1.PodSpec) *rules.Decision {
	for i := range spec.Volumes {
		if !byKubeletAlone(spec.Volumes[i].VolumeSource) {
			return q.forbid(podMirrorVolumes,
				fmt.Sprintf("node %q cannot create mirror pods with volumes that are attached: volume %.63q", q.node,
					spec.Volumes[i].Name))
		}
	}
	return nil
}

// byKubeletAlone reports whether a volume has one of the listed kinds and no other. A kind that
// Kubernetes adds later is denied until this list includes it.
func byKubeletAlone(source corev1.VolumeSource) bool {
	listed := source.HostPath != nil || source.EmptyDir != nil || source.DownwardAPI != nil || source.Image != nil ||
		source.NFS != nil || source.Projected != nil
	source.HostPath, source.EmptyDir, source.DownwardAPI, source.Image, source.NFS, source.Projected = nil, nil, nil, nil,
		nil, nil
	return listed && source == (corev1.VolumeSource{})
}
