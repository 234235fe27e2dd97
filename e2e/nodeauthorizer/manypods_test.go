// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// realPods is the number of pods to start.
const realPods = 40

// manyStart bounds the start of that many pods.
const manyStart = 5 * time.Minute

// awaited sets a grace period, so that the pod exists until its kubelet has ended it.
func awaited(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1) }

// endAll waits for the end of many pods. Otherwise the busy kubelet would slow down the next specs.
func endAll(ctx context.Context, namespace string) {
	GinkgoHelper()
	pods := suite.Client.CoreV1().Pods(namespace)
	Expect(pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
	Eventually(ctx, func() (int, error) {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		return len(list.Items), nil
	}).WithTimeout(manyStart).WithPolling(time.Second).Should(BeZero())
}

func readyPods(namespace string) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		list, err := suite.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		ready := 0
		for i := range list.Items {
			if slices.ContainsFunc(list.Items[i].Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}) {
				ready++
			}
		}
		return ready, nil
	}
}
