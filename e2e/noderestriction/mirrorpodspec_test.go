// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// repelling adds a required anti-affinity term. It keeps every pod of every namespace away from all
// nodes with the same operating system, which are all nodes.
func repelling(_ *Env, pod *corev1.Pod) {
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: &metav1.LabelSelector{},
			TopologyKey: corev1.LabelOSStable,
		}},
	}}
}

func towardsNodes(_ *Env, pod *corev1.Pod) {
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelOSStable,
				Operator: corev1.NodeSelectorOpExists}},
		}}},
	}}
}

func withVolume(source corev1.VolumeSource) func(*Env, *corev1.Pod) {
	return func(_ *Env, pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "disk", VolumeSource: source})
	}
}

// disk is a cloud disk that another user may own, named by its cloud ID.
func disk() corev1.VolumeSource {
	return corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{
		VolumeID: "vol-0123456789abcdef0", FSType: "ext4",
	}}
}

var _ = DescribeTable("the spec of a mirror pod", admit,
	Entry("affinity to nodes: admitted", Allows("NR-POD-11"), mirror(towardsNodes)),
	Entry("anti-affinity to all pods of the cluster: denied", DeniesBeyond("NR-POD-11", Behind), mirror(repelling),
		"cannot create mirror pods with podAntiAffinity"),
	Entry("directory of the host: admitted", Allows("NR-POD-12"),
		mirror(withVolume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc/kubernetes"}}))),
	Entry("disk of the cloud, by its ID: denied", DeniesBeyond("NR-POD-12", Behind), mirror(withVolume(disk())),
		"cannot create mirror pods with volumes that are attached"),
)
