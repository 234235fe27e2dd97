// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// restrictionAway is the path of node-restriction's manifest during the outage.
const restrictionAway = "/etc/kubernetes/e2e-bulkhead-node-restriction.yaml"

// While node-restriction is down, the writes that it must review fail. Heartbeats are not among
// them.
var _ = Describe("while node-restriction is stopped", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), func() {
		var (
			env     *Env
			own     *corev1.Pod
			before  []string
			since   time.Time
			message = func() Request { return messageOf(own) }
		)

		BeforeAll(func(ctx SpecContext) {
			var err error
			env = suite.Env()
			own = env.Pod(ctx, env.Own, fixtures.WithToken())
			before, err = readyNodes(ctx)
			Expect(err).NotTo(HaveOccurred())
			stopRestriction(ctx)
			since = time.Now()
		})

		// The documented list of what fails: every write of a node except leases and CSINodes.
		DescribeTable("a node's write is an error of the API server:", AllowsBy("NA-POD-4", Behind),
			func(ctx SpecContext, request func() Request) {
				code, text, err := suite.AsNode(env.Own).Send(ctx, request())
				Expect(err).NotTo(HaveOccurred())
				Expect(code).To(Equal(http.StatusInternalServerError), text)
				Expect(text).To(ContainSubstring("node-restriction.bulkhead.dev"))
			},
			Entry("status of a pod", func() Request { return message() }),
			Entry("status of its Node", func() Request {
				return Patch(api.Nodes).Named(env.Own).Sub("status").With(
					map[string]any{"status": map[string]any{"phase": "Running"}})
			}),
			Entry("event", func() Request {
				return Create(api.Events).In(own.Namespace).With(fixtures.EventAbout(own, "told", env.Own))
			}),
			Entry("token", func() Request { return tokenOf(own) }),
		)

		DescribeTable("these writes are admitted:", AllowsBy("NA-LEASE-1", Behind),
			func(ctx SpecContext, who func() *Identity, request func() Request) {
				code, text, err := who().Send(ctx, request())
				Expect(err).NotTo(HaveOccurred())
				Expect(code).To(BeNumerically("<", 300), text)
			},
			Entry("lease of a node", func() *Identity { return suite.AsNode(env.Own) }, func() Request {
				return Create(api.Leases).In(fixtures.LeaseNamespace).With(fixtures.Lease(fixtures.LeaseNamespace, env.Own))
			}),
			Entry("CSINode of a node", func() *Identity { return suite.AsNode(env.Own) }, func() Request {
				return Create(api.CSINodes).With(fixtures.CSINode(env.Own))
			}),
			Entry("pod status by an administrator", func() *Identity { return suite.AsAdmin() },
				func() Request { return message() }),
		)

		It("a kubelet gets no token for its pod, with its own certificate", AllowsBy("NA-SA-2", Behind),
			func(ctx SpecContext) {
				command := tokenCommand(env.Pod(ctx, suite.Worker, fixtures.WithToken()))
				var said string
				// The in-tree plugin is asked first, and may not know the pod yet.
				Eventually(ctx, func() string {
					out, err := suite.Host.Run(ctx, suite.Worker, command)
					if err == nil {
						StopTrying("it got a token: " + out).Now()
					}
					said = out + err.Error()
					return said
				}).WithTimeout(Soon).WithPolling(time.Second).ShouldNot(ContainSubstring("not found"))
				Expect(said).To(ContainSubstring("node-restriction.bulkhead.dev"))
			})

		It("every node stays Ready until the end", PollProgressAfter(2*dead), AllowsBy("NA-LEASE-3", Behind),
			func(ctx SpecContext) {
				left := time.Until(since.Add(dead))
				Consistently(ctx, readyNodes).WithTimeout(max(left, time.Second)).WithPolling(5 * time.Second).Should(Equal(before))
			})

		It("node-restriction decides again after its restart", AllowsBy("NA-POD-4", Behind), func(ctx SpecContext) {
			startRestriction(ctx)
			code, text, err := suite.AsNode(env.Own).Send(ctx, message())
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusOK), text)
		})
	})

// stopRestriction ends node-restriction until the end of the container whose BeforeAll calls it.
func stopRestriction(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(startRestriction)
	suite.OnControlPlane(ctx, "test -e "+restrictionAway+" || mv "+RestrictionManifest+" "+restrictionAway)
	// The kubelet may have stopped it already.
	suite.OnControlPlane(ctx, "kill -9 $("+RestrictionProcess+") || true")
	suite.EventuallyOnControlPlane(ctx, time.Minute, "! "+RestrictionProcess+" && sleep 2 && ! "+RestrictionProcess)
}

// startRestriction is idempotent.
func startRestriction(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, "test ! -e "+restrictionAway+" || mv "+restrictionAway+" "+RestrictionManifest)
	suite.AwaitWebhook(ctx, ServerSwitch, RestrictionReady)
}

// messageOf writes the status of a pod.
func messageOf(pod *corev1.Pod) Request {
	return Patch(api.Pods).In(pod.Namespace).Named(pod.Name).Sub("status").With(
		map[string]any{"status": map[string]any{"message": "well"}})
}

// tokenOf requests a token for the account of a pod, as the kubelet of its node does.
func tokenOf(pod *corev1.Pod) Request {
	return Create(api.ServiceAccounts).In(pod.Namespace).Named(pod.Spec.ServiceAccountName).Sub("token").With(
		fixtures.TokenRequest(pod))
}
