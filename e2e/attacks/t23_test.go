// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T23", Title: "A node uses rights whose reason has ended",
	Source: "plugin/pkg/auth/authorizer/node/graph.go; kubernetes#128910; kubernetes#94795",
	Effect: "Upstream relates a secret to the node of every pod that names it, until the pod is deleted. Jobs stay for " +
		"days. So the node reads their secrets long after they have ended.",
	Stops: "Half a minute after a pod has ended, its node has no right to its secrets and tokens. After a deletion, the " +
		"right ends at once.",
	Attempts: []Attempt{
		{
			Name: "the secret of a pod that has ended", Effect: "the secret is printed",
			By: kubelet, Rule: "NA-POD-6",
			Prepare: func(ctx context.Context, r *Run) {
				secretsOfBoth(ctx, r)
				r.Name = r.NewName("secret")
				r.Put(ctx, fixtures.Secret(r.Namespace(ctx), r.Name))
				r.Pod = ended(ctx, r.Env.Pod(ctx, r.Attacker(), fixtures.WithShell("shell", "exit 0"),
					fixtures.WithSecret(r.Name), func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever }))
			},
			Attack: func(ctx context.Context, r *Run, who *Identity) Answer {
				request := getSecret(r.Pod.Namespace, r.Name)
				if r.Protected && suite.InForce("NA-POD-6") {
					awaitRefusal(ctx, r, request, TerminatedPodGrace+RevokeTimeout)
				}
				return r.Send(ctx, who, request)
			},
			Show:   showSecret,
			TwinIs: "the secret of a pod that runs", TwinRule: "NA-SECRET-1",
			Twin:   sends(func(r *Run) Request { return secretNamed(r, r.Attacker()) }),
			Labels: Label(Slow),
		},
		{
			Name: "the secret of a pod that was deleted", Effect: "the secret is printed",
			By: kubelet, Rule: "NA-SECRET-1", Text: unrelated,
			Prepare: func(ctx context.Context, r *Run) {
				secretsOfBoth(ctx, r)
				r.Name = r.NewName("secret")
				r.Put(ctx, fixtures.Secret(r.Namespace(ctx), r.Name))
				r.Pod = r.Env.Pod(ctx, r.Attacker(), fixtures.WithSecret(r.Name))
			},
			Attack: func(ctx context.Context, r *Run, who *Identity) Answer {
				request := getSecret(r.Pod.Namespace, r.Name)
				r.Remove(ctx, r.Pod)
				if r.Protected {
					awaitRefusal(ctx, r, request, RevokeTimeout)
				}
				return r.Send(ctx, who, request)
			},
			Show: showSecret,
			// Bulkhead reads the pod before it denies, so the twin is not denied in the moment of the bind.
			TwinIs: "the secret of a pod that was bound a moment ago",
			Twin: func(ctx context.Context, r *Run, who *Identity) Answer {
				r.Env.Pod(ctx, r.Attacker(), fixtures.WithSecret(r.Name))
				return r.Send(ctx, who, getSecret(r.Pod.Namespace, r.Name))
			},
		},
	},
	Also: []string{"e2e/nodeauthorizer/ended_test.go", "e2e/nodeauthorizer/revocation_test.go",
		"e2e/attacks/staleness_test.go"},
})

// ended waits until a pod has succeeded.
func ended(ctx context.Context, pod *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	Eventually(ctx, func() (corev1.PodPhase, error) {
		got, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return got.Status.Phase, nil
	}).WithTimeout(PodStart).WithPolling(200 * time.Millisecond).Should(Equal(corev1.PodSucceeded))
	return pod
}

// awaitRefusal waits until the node has lost the right, by reviews. The attack then has one attempt.
func awaitRefusal(ctx context.Context, r *Run, request Request, within time.Duration) {
	GinkgoHelper()
	begun := time.Now()
	Eventually(ctx, func() (bool, error) {
		review, err := suite.Review(ctx, suite.AsNode(r.Attacker()), request)
		return review.Allowed, err
	}).WithTimeout(within).WithPolling(100 * time.Millisecond).Should(BeFalse())
	r.Say("The right ended after %s.", time.Since(begun).Round(100*time.Millisecond))
}
