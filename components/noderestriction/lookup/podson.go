// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

const (
	// podPage limits how many pods are decoded at the same time. A pod of 1 MB can have 40,000
	// volumes, which take 12 MB of memory.
	podPage = 5
	// maxPodLists limits how many lists of pods run at the same time.
	maxPodLists = 4
	// maxPodsOn is the number of pods of a node at which a list fails. By default a kubelet runs
	// 110 pods, and fails pods beyond its maximum.
	maxPodsOn = 1000
	// maxVolumesOf is the number of volumes of a pod that are kept. A node can attach about this
	// many volumes in total.
	maxVolumesOf = 128
)

// PodsOn implements [noderestriction.Cluster]. It omits pods that have ended. For each pod it
// returns at most 128 volumes, and none that is local to the node.
func (v *Cluster) PodsOn(ctx context.Context, node string) ([]*corev1.Pod, error) {
	return look(ctx, v, question{kind: "podsonnode", name: node}, func(ctx context.Context) ([]*corev1.Pod, error) {
		return v.listPodsOn(ctx, node)
	})
}

func (v *Cluster) listPodsOn(ctx context.Context, node string) (pods []*corev1.Pod, err error) {
	if err := v.podLists.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer v.podLists.Release(1)
	options := metav1.ListOptions{FieldSelector: runningOn(node), Limit: podPage}
	for seen := 0; seen < maxPodsOn; seen += podPage {
		page, err := v.client.CoreV1().Pods("").List(ctx, options)
		if err != nil {
			return nil, withoutStatus(err)
		}
		for i := range page.Items {
			pods = append(pods, volumesOnly(&page.Items[i]))
		}
		if page.Continue == "" {
			slices.SortStableFunc(pods, newestFirst)
			return pods, nil
		}
		options.Continue = page.Continue
	}
	return nil, fmt.Errorf("more than %d pods on the node", maxPodsOn)
}

// runningOn excludes pods that have ended. A node mounts none of their volumes, and any user who
// may create pods can create thousands that fail on a node.
func runningOn(node string) string {
	return fields.AndSelectors(
		fields.OneTermEqualSelector("spec.nodeName", node),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	).String()
}

func newestFirst(a, b *corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) }

// volumesOnly copies only the fields that are used, so that a large pod is not kept in memory until
// the end of the list.
func volumesOnly(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, CreationTimestamp: pod.CreationTimestamp,
		},
		Spec: corev1.PodSpec{Volumes: attachable(pod.Spec.Volumes)},
	}
}

// attachable returns the volumes that a node may report as in use. The result is a copy, so that
// the other volumes are not kept in memory.
func attachable(volumes []corev1.Volume) (kept []corev1.Volume) {
	for _, v := range volumes {
		isLocal := v.EmptyDir != nil || v.HostPath != nil || v.Secret != nil || v.ConfigMap != nil ||
			v.DownwardAPI != nil || v.Projected != nil || v.Image != nil
		if !isLocal && len(kept) < maxVolumesOf {
			kept = append(kept, v)
		}
	}
	return kept
}
