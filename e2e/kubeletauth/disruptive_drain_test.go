// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// lingering sets a grace period of one second, which an eviction respects. The pod's shell ignores
// SIGTERM, so it is killed after that.
func lingering(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1) }

var _ = Describe("a drain of the worker", Serial, Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), func() {
	It("ends streams with their pods, and leaves the proxy, logs and exec of the remaining pods", Allows("KA-CLOG-1"),
		Allows("KA-EXEC-1"), func(ctx SpecContext) {
			streams := startStreams(ctx, lingering)
			stays := must(proxyOf(ctx, suite.Worker))
			DeferCleanup(func(ctx context.Context) {
				schedulable := []byte(`{"spec":{"unschedulable":null}}`)
				_, err := suite.Client.CoreV1().Nodes().Patch(ctx, suite.Worker, types.MergePatchType, schedulable,
					metav1.PatchOptions{})
				Expect(err).NotTo(HaveOccurred())
				waitSystem(ctx)
			})

			began := time.Now()
			kubectl(ctx, "drain", suite.Worker, "--ignore-daemonsets", "--force", "--delete-emptydir-data",
				"--timeout=4m")
			Measured("kubectl drain of the worker", time.Since(began).Round(time.Second).String())
			streams.awaitEnd(ctx, "a drain")
			Expect(streams.log).To(gexec.Exit(0), "a log is whole when its container has ended")
			Expect(streams.command).To(gexec.Exit(137), "the command was killed with its container")

			proxy := must(proxyOf(ctx, suite.Worker))
			Expect(proxy.UID).To(Equal(stays.UID), "the proxy keeps running")
			Expect(isReady(proxy)).To(BeTrue())
			Expect(kubectl(ctx, "logs", "--namespace="+systemNamespace, proxy.Name, "--tail=1")).NotTo(BeEmpty())
			// The scheduler does not use a cordoned node. A pod with a node name can still run
			// there.
			streams = startStreams(ctx)
			kubectl(ctx, "uncordon", suite.Worker)
			streams.expectData(ctx)
		})
})
