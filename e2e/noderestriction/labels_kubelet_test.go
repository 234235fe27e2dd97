// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// flags is the file with the kubelet's --node-labels in a kubeadm cluster.
const flags = "/var/lib/kubelet/kubeadm-flags.env"

// A kubelet compares some labels of its Node with its own configuration when it starts.
var _ = Describe("a real kubelet with changed labels", Serial, Label(Disruptive, Slow, OnHost, OnWorker, OnHardened),
	func() {
		labels := func(ctx context.Context) (map[string]string, error) {
			node, err := suite.Client.CoreV1().Nodes().Get(ctx, suite.Worker, metav1.GetOptions{})
			return node.Labels, err
		}
		// restart restarts the kubelet with a value for --node-labels, which may be empty.
		restart := func(ctx context.Context, label string) {
			GinkgoHelper()
			onWorker(ctx, "sed -i 's|--node-labels=[^ \"]*|--node-labels="+label+"|' "+flags+" && systemctl restart kubelet")
		}
		// reports returns the answers to the kubelet's status updates.
		reports := func(ctx context.Context, since time.Time) (codes []int32, err error) {
			events, err := suite.AuditedWhere(ctx, since, `"verb":"patch"`, `"resource":"nodes"`, `"subresource":"status"`,
				`"user":{"username":"system:node:`+suite.Worker+`"`)
			for _, event := range events {
				written := event.RequestReceivedTimestamp.After(since) && strings.HasPrefix(event.UserAgent, "kubelet/")
				if written && event.ResponseStatus != nil {
					codes = append(codes, event.ResponseStatus.Code)
				}
			}
			return codes, err
		}
		// expectReport waits until the kubelet has registered, because it reports its status only
		// after that. It does not use the condition's heartbeat: the heartbeat has a resolution of
		// one second, and both the old and the new kubelet may report in that second.
		expectReport := func(ctx context.Context, since time.Time) {
			GinkgoHelper()
			Eventually(ctx, reports).WithArguments(since).WithTimeout(NodeReady).WithPolling(time.Second).Should(
				ContainElement(int32(http.StatusOK)))
		}
		BeforeEach(func(ctx SpecContext) {
			before := must(suite.Host.Run(ctx, suite.Worker, "cat "+flags))
			Expect(before).To(ContainSubstring("--node-labels="))
			DeferCleanup(func(ctx context.Context) {
				setLabel(ctx, suite.Worker, zone, "")
				setLabel(ctx, suite.Worker, oldZone, "")
				since := time.Now()
				onWorker(ctx, "cat >"+flags+" <<'END' && systemctl restart kubelet\n"+before+"END\n")
				expectReport(ctx, since)
			})
		})

		It("keeps the zone that a cloud controller sets after the registration", Allows("NR-LABEL-4"), func(ctx SpecContext) {
			env, since := suite.Env(), time.Now()
			cloud := must(suite.CertifiedUser(ctx, env.NewName("e2e-cloud-controller")))
			env.Grant(ctx, cloud.User,
				rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{""}, Resources: []string{"nodes"}})
			for _, value := range []string{"a", "b"} {
				_, err := must(cloud.Client()).CoreV1().Nodes().Patch(ctx, suite.Worker, types.MergePatchType,
					fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, zone, value), metav1.PatchOptions{})
				Expect(err).NotTo(HaveOccurred())
			}
			begun := time.Now()
			restart(ctx, "")
			expectReport(ctx, begun)
			Expect(labels(ctx)).To(HaveKeyWithValue(zone, "b"))
			expectRefusalsOnList(ctx, suite.Worker, since, "with the zone of a cloud controller")
		})

		It("sets its zone if the Node has none", Allows("NR-LABEL-4"), func(ctx SpecContext) {
			restart(ctx, zone+"=a")
			Eventually(ctx, labels).WithTimeout(NodeReady).WithPolling(time.Second).Should(HaveKeyWithValue(zone, "a"))
		})

		It("does not change its zone by --node-labels, and keeps running when an administrator changes it",
			Denies("NR-LABEL-4"),
			func(ctx SpecContext) {
				setLabel(ctx, suite.Worker, oldZone, "a")
				since := time.Now()
				restart(ctx, oldZone+"=b")
				Eventually(ctx, func() ([]string, error) { return refused(ctx, suite.Worker, since) }).WithTimeout(
					NodeReady).WithPolling(time.Second).
					Should(ContainElement(And(ContainSubstring("[NR-LABEL-4]"), ContainSubstring(oldZone))))
				Expect(labels(ctx)).To(HaveKeyWithValue(oldZone, "a"))

				// The kubelet may report before setLabel returns, and then not again for minutes.
				changed := time.Now()
				setLabel(ctx, suite.Worker, oldZone, "b")
				expectReport(ctx, changed)
			})

		It("restores its architecture after an administrator changed it", Allows("NR-LABEL-4"), func(ctx SpecContext) {
			before := must(labels(ctx))[corev1.LabelArchStable]
			DeferCleanup(func(ctx context.Context) { setLabel(ctx, suite.Worker, corev1.LabelArchStable, before) })
			setLabel(ctx, suite.Worker, corev1.LabelArchStable, "e2e")
			Eventually(ctx, labels).WithTimeout(NodeReady).WithPolling(time.Second).Should(
				HaveKeyWithValue(corev1.LabelArchStable, before))
		})
	})
