// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// A mirror pod only shows what a kubelet runs, but the control plane reads its spec like
// that of every other pod.
var (
	podMirrorScheduling = rules.Rule{
		ID: "NR-POD-11",
		Description: "A mirror pod has no affinity to pods, no anti-affinity to pods and no scheduling group: the " +
			"scheduler would apply them to the pods of other nodes.",
		Source: "Bulkhead: pkg/scheduler/framework/plugins/interpodaffinity applies the anti-affinity of a pod that runs " +
			"to every pod that is scheduled; " +
			"upstream does not look at it",
		Extension: true,
		Optional:  true,
	}
	podMirrorVolumes = rules.Rule{
		ID: "NR-POD-12",
		Description: "A mirror pod has only volumes that a kubelet provides by itself: hostPath, emptyDir, downwardAPI, " +
			"image, nfs and a projection of downwardAPI. " +
			"kube-controller-manager would attach every disk that another kind names to the node.",
		Source: "Bulkhead: pkg/controller/volume/attachdetach/util/util.go ProcessPodVolumes attaches the disks of all " +
			"pods that have a node, also of volumes in the pod; " +
			"upstream refuses references to objects of the API only",
		Extension: true,
		Optional:  true,
	}
)

// reviewMirrorPodSpec restricts what others than the kubelet do because of a mirror pod.
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

// byKubeletAlone is true for a volume that has one of the listed kinds and no other. What
// Kubernetes adds later is refused until somebody has looked at it.
func byKubeletAlone(source corev1.VolumeSource) bool {
	listed := source.HostPath != nil || source.EmptyDir != nil || source.DownwardAPI != nil || source.Image != nil ||
		source.NFS != nil || source.Projected != nil
	source.HostPath, source.EmptyDir, source.DownwardAPI, source.Image, source.NFS, source.Projected = nil, nil, nil, nil,
		nil, nil
	return listed && source == (corev1.VolumeSource{})
}
