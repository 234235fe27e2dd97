// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
)

const (
	// creators is the number of objects that are created at once.
	creators = 16
	// burstLabel marks the pods of a burst.
	burstLabel = "e2e.bulkhead.dev/burst"
	// shortBurst and longBurst are the numbers of pods.
	shortBurst, longBurst = 300, 10_000
	// burstsBegin is the time from which on a burst has as many pods as a long one.
	burstsBegin = time.Minute
)

// loadDisruptions give the components more to do than a cluster of this size ever does.
func loadDisruptions() []disruption {
	return []disruption{{
		name: "burst of events",
		broken: fmt.Sprintf("%d pods, each with a secret, are created on a Node without a kubelet and deleted, as fast as "+
			"the API server allows.", longBurst),
		short: time.Second, long: burstsBegin,
		sized:  burst,
		repair: endBurst,
	}}
}

// burst creates pods on a Node without a kubelet, and deletes them.
func burst(ctx context.Context, lasts time.Duration) {
	GinkgoHelper()
	pods := shortBurst
	if lasts >= burstsBegin {
		pods = longBurst
	}
	env := suite.Env()
	namespace := env.Namespace(ctx)
	env.Node(ctx, env.Own)
	secret := fixtures.Secret(namespace, "burst")
	env.Put(ctx, secret)
	group, limited := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range pods {
		group.Go(func() error {
			pod := fixtures.Pod(namespace, fmt.Sprintf("burst-%d", i), env.Own, fixtures.WithSecret(secret.Name),
				func(pod *corev1.Pod) { pod.Labels = map[string]string{burstLabel: "true"} })
			_, err := suite.Client.CoreV1().Pods(namespace).Create(limited, pod, metav1.CreateOptions{})
			return err
		})
	}
	Expect(group.Wait()).To(Succeed())
	endBurst(ctx)
}

// endBurst deletes the pods of bursts. It is idempotent. The API server may end a request of thousands
// of deletions early.
func endBurst(ctx context.Context) {
	GinkgoHelper()
	pods := suite.Client.CoreV1().Pods(metav1.NamespaceAll)
	selected := metav1.ListOptions{LabelSelector: burstLabel}
	Eventually(ctx, func() (int, error) {
		list, err := pods.List(ctx, selected)
		if err != nil || len(list.Items) == 0 {
			return 0, err
		}
		_ = suite.Client.CoreV1().Pods(list.Items[0].Namespace).DeleteCollection(ctx,
			metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, selected)
		return len(list.Items), nil
	}).WithTimeout(recovery).WithPolling(time.Second).Should(BeZero(), "pods of the burst")
}
