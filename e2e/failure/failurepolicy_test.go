// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// kubeletKubeconfig has the certificate of the node's own kubelet.
const kubeletKubeconfig = "/etc/kubernetes/kubelet.conf"

// With failure policy Ignore, in-tree NodeRestriction checks the writes of nodes while
// node-restriction is down. The specs of restriction_test.go have the same requests with the default,
// Fail. The specs run in order: each request has the same result before and after the outage, except
// for the rule that Kubernetes does not have.
var _ = Describe("while node-restriction is stopped, with failure policy Ignore", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), func() {
		var (
			env *Env
			// real runs on the worker, own and others belong to Nodes without a kubelet.
			own, real, others *corev1.Pod
		)

		BeforeAll(func(ctx SpecContext) {
			installed, err := suite.ReadInstallation(ctx)
			Expect(err).NotTo(HaveOccurred())
			if installed.Profile != Hardened {
				Skip("only the profile hardened has in-tree NodeRestriction beside node-restriction")
			}
			before := installed.Command()
			DeferCleanup(func(ctx context.Context) { suite.OnControlPlane(ctx, before) })
			installed.Extensions.IgnoreFailures = true
			suite.OnControlPlane(ctx, installed.Command())

			env = suite.Env()
			own = env.Pod(ctx, env.Own, fixtures.WithToken())
			real = env.Pod(ctx, suite.Worker, fixtures.WithToken())
			others = env.Pod(ctx, env.Other, fixtures.WithToken())
			// node-restriction decides while it runs.
			expectCode(ctx, suite.AsNode(env.Own), labelling(env.Own, "before"), http.StatusForbidden, "[NR-LABEL-2]")
			// After the restart of the API server, the in-tree plugin's informer may not have the pod yet.
			// The plugin then answers 404.
			Eventually(ctx, func() (int, error) {
				code, _, err := suite.AsNode(env.Own).Send(ctx, tokenOf(own))
				return code, err
			}).WithTimeout(Soon).WithPolling(time.Second).ShouldNot(Equal(http.StatusNotFound))
			expectCode(ctx, suite.AsNode(env.Own), tokenOf(own), http.StatusCreated, "")
			Expect(suite.OnControlPlane(ctx, "bulkhead status")).To(MatchRegexp(`(?m)^failure policy +Ignore: `))
			Expect(suite.OnControlPlane(ctx, "bulkhead status -o yaml")).To(ContainSubstring("failurePolicy: Ignore"))
			Expect(suite.OnControlPlane(ctx, "bulkhead preflight || true")).To(
				MatchRegexp(`(?m)^WARN +failure policy of node-restriction +Ignore: `))
			stopRestriction(ctx)
		})

		DescribeTable("a node's write about its own objects is admitted:", AllowsBy("NA-POD-4", Behind),
			func(ctx SpecContext, request func() Request) {
				code, text, err := suite.AsNode(env.Own).Send(ctx, request())
				Expect(err).NotTo(HaveOccurred())
				Expect(code).To(BeNumerically("<", 300), text)
			},
			Entry("token for its pod", func() Request { return tokenOf(own) }),
			Entry("status of its pod", func() Request { return messageOf(own) }),
			Entry("status of its Node", func() Request {
				return Patch(api.Nodes).Named(env.Own).Sub("status").With(
					map[string]any{"status": map[string]any{"phase": "Running"}})
			}),
			Entry("event about its pod", func() Request {
				return Create(api.Events).In(own.Namespace).With(fixtures.EventAbout(own, "told", env.Own))
			}),
		)

		DescribeTable("a node's write about others' objects is denied in-tree, with the reason of Kubernetes:",
			Denies("NR-NODE-1"),
			func(ctx SpecContext, request func() Request, reason string) {
				expectCode(ctx, suite.AsNode(env.Own), request(), http.StatusForbidden, reason)
			},
			Entry("label of another Node", func() Request { return labelling(env.Other, "outage") },
				"is not allowed to modify node"),
			Entry("status of another Node", func() Request {
				return Patch(api.Nodes).Named(env.Other).Sub("status").With(
					map[string]any{"status": map[string]any{"phase": "Running"}})
			}, "is not allowed to modify node"),
			Entry("status of another node's pod", func() Request { return messageOf(others) },
				"can only update pod status for pods with spec.nodeName set to itself"),
		)

		It("a rule that Kubernetes does not have is not enforced", AllowsBy("NR-LABEL-2", Behind),
			func(ctx SpecContext) {
				expectCode(ctx, suite.AsNode(env.Own), labelling(env.Own, "outage"), http.StatusOK, "")
				Expect(suite.OnControlPlane(ctx, "bulkhead status")).To(
					MatchRegexp(`admitted without node-restriction: [1-9]`))
			})

		// A kubelet requests a new token when 80 % of the time has passed. Ten minutes are the shortest time
		// of a token. So the spec sends the kubelet's request again and again instead of waiting.
		It("a kubelet gets tokens for its pods, with its own certificate", AllowsBy("NR-SA-1", Behind),
			func(ctx SpecContext) {
				for range 5 {
					token, err := suite.ReadToken(ctx, requestToken(ctx, real))
					Expect(err).NotTo(HaveOccurred())
					Expect(token.User).To(Equal("system:serviceaccount:" + real.Namespace + ":" + real.Spec.ServiceAccountName))
				}
			})

		It("a kubelet gets no token for another node's pod", Denies("NA-SA-2"), func(ctx SpecContext) {
			out, err := suite.Host.Run(ctx, suite.Worker, tokenCommand(others))
			Expect(err).To(HaveOccurred(), out)
			Expect(out + err.Error()).To(ContainSubstring("orbidden"))
		})

		It("node-restriction decides again after its restart", Denies("NR-LABEL-2"), func(ctx SpecContext) {
			startRestriction(ctx)
			expectCode(ctx, suite.AsNode(env.Own), labelling(env.Own, "after"), http.StatusForbidden, "[NR-LABEL-2]")
			expectCode(ctx, suite.AsNode(env.Own), tokenOf(own), http.StatusCreated, "")
		})
	})

// labelling sets a label that no allowlist has. Each part of the specs has its own label.
func labelling(node, part string) Request {
	return Patch(api.Nodes).Named(node).With(
		map[string]any{"metadata": map[string]any{"labels": map[string]any{"example.com/failure-policy-" + part: "x"}}})
}

// expectCode makes the request and checks the status, and the text of the answer. It repeats the request
// only while a lookup gets no answer in time.
func expectCode(ctx context.Context, who *Identity, request Request, code int, text string) {
	GinkgoHelper()
	var (
		got    int
		answer string
		err    error
	)
	Eventually(ctx, func() bool {
		got, answer, err = who.Send(ctx, request)
		return Unanswered(answer)
	}).WithTimeout(Soon).WithPolling(time.Second).Should(BeFalse(), "a lookup was answered in time")
	Expect(err).NotTo(HaveOccurred())
	Expect(got).To(Equal(code), answer)
	Expect(answer).To(ContainSubstring(text))
}

// tokenCommand requests a token for the account of a pod with the certificate of the kubelet on whose
// host it runs.
func tokenCommand(pod *corev1.Pod) string {
	return fmt.Sprintf("kubectl --kubeconfig=%s create token %s --namespace=%s --duration=10m --bound-object-kind=Pod "+
		"--bound-object-name=%s --bound-object-uid=%s", kubeletKubeconfig, pod.Spec.ServiceAccountName, pod.Namespace,
		pod.Name, pod.UID)
}

// requestToken returns a token for the account of a pod on the worker.
func requestToken(ctx context.Context, pod *corev1.Pod) string {
	GinkgoHelper()
	out, err := suite.Host.Run(ctx, suite.Worker, tokenCommand(pod))
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(out)
}
