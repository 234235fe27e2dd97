// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// The main purpose of the component, tested with the worker's own certificate and without
// impersonation.
var _ = Describe("a real kubelet's certificate", Label(OnHost, OnWorker), func() {
	var (
		env                    *Env
		kubelet                *Identity
		started                time.Time
		ownSecret, otherSecret *corev1.Secret
	)

	BeforeEach(func(ctx SpecContext) {
		started = time.Now()
		env = suite.Env()
		kubelet = must(suite.RealKubelet(ctx, suite.Worker))
		ownSecret = fixtures.Secret(env.Namespace(ctx), "mine")
		otherSecret = fixtures.Secret(env.Namespace(ctx), "another")
		env.Put(ctx, ownSecret, otherSecret)
		env.Pod(ctx, env.Other, fixtures.WithSecret(otherSecret.Name))
	})

	It("starts a pod that mounts a secret, and reads that secret", Allows("NA-SECRET-1"), func(ctx SpecContext) {
		pod := env.Pod(ctx, suite.Worker, fixtures.WithSecret(ownSecret.Name))
		waitUntilRunning(ctx, pod)
		request := Get(api.Secrets).In(ownSecret.Namespace).Named(ownSecret.Name)
		suite.ExpectAllowed(ctx, kubelet, request, "NA-SECRET-1")
		expectAudited(ctx, kubelet, ownSecret, started, "allow", "NA-SECRET-1")
	})

	It("does not read the secret of another node's pod", Denies("NA-SECRET-1"), func(ctx SpecContext) {
		request := Get(api.Secrets).In(otherSecret.Namespace).Named(otherSecret.Name)
		suite.ExpectForbidden(ctx, kubelet, request, "NA-SECRET-1", unrelated)
		expectAudited(ctx, kubelet, otherSecret, started, "forbid", "NA-SECRET-1")
	})

	It("lists the pods of its own node", Allows("NA-POD-2"), func(ctx SpecContext) {
		suite.ExpectAllowed(ctx, kubelet, List(api.Pods).Where("spec.nodeName="+suite.Worker), "NA-POD-2")
	})

	It("does not list the pods of another node", Denies("NA-POD-2"), func(ctx SpecContext) {
		suite.ExpectForbidden(ctx, kubelet, List(api.Pods).Where("spec.nodeName="+env.Other), "NA-POD-2")
	})
})

// waitUntilRunning waits as long as for many pods: another process may start that many on the same
// node at the same time.
func waitUntilRunning(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, phaseOf(pod)).WithTimeout(manyStart).WithPolling(200 * time.Millisecond).Should(
		Equal(corev1.PodRunning))
}

// phaseOf returns the current phase of a pod.
func phaseOf(pod *corev1.Pod) func(context.Context) (corev1.PodPhase, error) {
	return func(ctx context.Context) (corev1.PodPhase, error) {
		got, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return got.Status.Phase, nil
	}
}

// expectAudited expects the decision in the cluster's audit log. On in-tree the log names no rule.
func expectAudited(ctx context.Context, who *Identity, object metav1.Object, since time.Time, decision, rule string) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) {
		events, err := suite.Audited(ctx, since, who.User)
		if err != nil {
			return nil, err
		}
		return reasons(events, object, decision), nil
	}).WithTimeout(Soon).WithPolling(time.Second).Should(ContainElement(
		WithTransform(func(reason string) bool {
			return suite.Settings.Profile == InTree || strings.Contains(reason, "["+rule+"]")
		}, BeTrue())))
}

// reasons returns the reasons of the decisions on requests for the object.
func reasons(events []auditv1.Event, object metav1.Object, decision string) []string {
	var all []string
	for _, event := range events {
		ref := event.ObjectRef
		if ref == nil || ref.Namespace != object.GetNamespace() || ref.Name != object.GetName() {
			continue
		}
		if event.Annotations["authorization.k8s.io/decision"] == decision {
			all = append(all, event.Annotations["authorization.k8s.io/reason"])
		}
	}
	return all
}
