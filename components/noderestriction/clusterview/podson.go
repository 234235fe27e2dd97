// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterview

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// PodsOn implements [noderestriction.Cluster].
func (v *View) PodsOn(ctx context.Context, node string) ([]*corev1.Pod, error) {
	return look(ctx, v, question{kind: "podsonnode", name: node}, func(ctx context.Context) ([]*corev1.Pod, error) {
		return v.listPodsOn(ctx, node)
	})
}

func (v *View) listPodsOn(ctx context.Context, node string) (pods []*corev1.Pod, err error) {
	if err := v.lists.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer v.lists.Release(1)
	options := metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(), Limit: pageSize,
	}
	for seen := 0; seen < MaxCounted; seen += pageSize {
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
	return nil, errTooMany
}

func newestFirst(a, b *corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) }

// volumesOnly keeps of a pod what is read of it, so that a large pod is not held until
// the end of the list.
func volumesOnly(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, CreationTimestamp: pod.CreationTimestamp,
		},
		Spec: corev1.PodSpec{Volumes: pod.Spec.Volumes},
	}
}
