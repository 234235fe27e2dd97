// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// dead and hung are the durations of node-authorizer's outages. Without heartbeats a node is NotReady
	// after 50 seconds, so nodes that are still Ready after dead have sent some.
	dead = 75 * time.Second
	hung = 30 * time.Second
	// away is the path of its manifest during the outage: the kubelet then stops the pod.
	away = "/etc/kubernetes/e2e-bulkhead-node-authorizer.yaml"
)

// outage is a way to stop node-authorizer and to start it again.
type outage struct {
	lasts       time.Duration
	begin, end  func(context.Context)
	since       time.Time
	readyBefore []string
}

var _ = Describe("while node-authorizer is stopped", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), func() {
		holds(&outage{
			lasts: dead,
			begin: func(ctx context.Context) {
				// Kill it at once: without a manifest the kubelet stops a pod gracefully.
				suite.OnControlPlane(ctx, "mv "+ComponentManifest+" "+away+" && { kill -9 $(pgrep -x node-authorizer) || true; }")
				suite.EventuallyOnControlPlane(ctx, time.Minute,
					"! pgrep -x node-authorizer && sleep 2 && ! pgrep -x node-authorizer")
			},
			end: func(ctx context.Context) {
				suite.OnControlPlane(ctx, "test ! -e "+away+" || mv "+away+" "+ComponentManifest)
			},
		})
	})

var _ = Describe("while node-authorizer hangs", Serial, Ordered, Label(Disruptive, OnHost, OnWorker, OnHardened, Slow),
	func() {
		holds(&outage{
			lasts: hung,
			begin: func(ctx context.Context) { suite.OnControlPlane(ctx, "kill -STOP $(pgrep -x node-authorizer)") },
			end:   func(ctx context.Context) { suite.OnControlPlane(ctx, "kill -CONT $(pgrep -x node-authorizer) || true") },
		})
	})

// holds are the specs of an outage. They check what the in-tree authorizers still allow, what is
// still denied, and that nothing is lost after the outage. The in-tree Node authorizer is the
// floor: only hardened has it behind node-authorizer.
func holds(o *outage) {
	var (
		env                    *Env
		ownSecret, otherSecret *corev1.Secret
	)

	BeforeAll(func(ctx SpecContext) {
		var err error
		env = suite.Env()
		ownSecret, otherSecret = fixtures.Secret(env.Namespace(ctx), "mine"), fixtures.Secret(env.Namespace(ctx), "another")
		env.Put(ctx, ownSecret, otherSecret)
		env.Pod(ctx, env.Own, fixtures.WithSecret(ownSecret.Name))
		env.Pod(ctx, env.Other, fixtures.WithSecret(otherSecret.Name))
		suite.ExpectAllowed(ctx, suite.AsNode(env.Own), readingOf(ownSecret), "NA-SECRET-1")
		o.readyBefore, err = readyNodes(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(o.recover)
		o.begin(ctx)
		o.since = time.Now()
	})

	It("the in-tree Node authorizer allows what it would allow without Bulkhead", AllowsBy("NA-SECRET-1", Behind),
		func(ctx SpecContext) {
			node := suite.AsNode(env.Own)
			// The graph of the in-tree authorizer may be behind.
			Eventually(ctx, func() (Answer, error) { return suite.Do(ctx, node, readingOf(ownSecret)) }).
				WithTimeout(Soon).Should(AllowedBy(InTree, "NA-SECRET-1"))
			Expect(suite.Do(ctx, node, Get(api.Nodes).Named(env.Own))).To(AllowedBy(InTree, "NA-NODE-1"))
		})

	It("a request that the in-tree Node authorizer does not allow fails with an error", Denies("NA-SECRET-1"),
		func(ctx SpecContext) {
			asked := time.Now()
			answer, err := suite.Do(ctx, suite.AsNode(env.Own), readingOf(otherSecret))
			Expect(err).NotTo(HaveOccurred())
			Expect(answer.Allowed).To(BeFalse())
			Expect(answer.Code).To(Equal(http.StatusInternalServerError), answer.Message)
			expectUndecided(ctx, env.Own, otherSecret, asked)
		})

	It("a request that the API itself rejects stays rejected", Denies("NA-DEFAULT"), func(ctx SpecContext) {
		answer, err := suite.Do(ctx, suite.AsNode(env.Own), List(api.Secrets))
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Allowed).To(BeFalse())
		Expect(answer.Code).To(BeElementOf(http.StatusForbidden, http.StatusInternalServerError), answer.Message)
	})

	It("a new pod with a secret starts", AllowsBy("NA-SECRET-1", Behind), func(ctx SpecContext) {
		pod := env.Pod(ctx, suite.Worker, fixtures.WithSecret(ownSecret.Name))
		started := time.Now()
		Eventually(ctx, phaseOf(pod)).WithTimeout(PodStart).WithPolling(time.Second).Should(Equal(corev1.PodRunning))
		Measured("a pod that starts during the outage of "+o.lasts.String(), time.Since(started).Round(time.Second).String())
	})

	It("every node stays Ready until the end", PollProgressAfter(2*dead), AllowsBy("NA-LEASE-3", Behind),
		func(ctx SpecContext) {
			left := time.Until(o.since.Add(o.lasts))
			Consistently(ctx, readyNodes).WithTimeout(max(left, time.Second)).WithPolling(5 * time.Second).Should(
				Equal(o.readyBefore))
		})

	It("node-authorizer decides again after its restart", Denies("NA-SECRET-1"), func(ctx SpecContext) {
		Expect(time.Since(o.since)).To(BeNumerically(">=", o.lasts))
		o.recover(ctx)
		suite.ExpectForbidden(ctx, suite.AsNode(env.Own), readingOf(otherSecret), "NA-SECRET-1")
		suite.ExpectAllowed(ctx, suite.AsNode(env.Own), readingOf(ownSecret), "NA-SECRET-1")
	})
}

// recover ends the outage. It is idempotent.
func (o *outage) recover(ctx context.Context) {
	GinkgoHelper()
	o.end(ctx)
	suite.AwaitWebhook(ctx, ServerSwitch, ComponentReady)
}

func readingOf(secret *corev1.Secret) Request {
	return Get(api.Secrets).In(secret.Namespace).Named(secret.Name)
}

func phaseOf(pod *corev1.Pod) func(context.Context) (corev1.PodPhase, error) {
	return func(ctx context.Context) (corev1.PodPhase, error) {
		got, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("reading the pod: %w", err)
		}
		return got.Status.Phase, nil
	}
}

// readyNodes returns the names of the nodes that have a kubelet and are Ready.
func readyNodes(ctx context.Context) ([]string, error) {
	list, err := suite.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "!" + FakeNodeLabel})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	var ready []string
	for i := range list.Items {
		if IsReady(&list.Items[i]) {
			ready = append(ready, list.Items[i].Name)
		}
	}
	return ready, nil
}

// expectUndecided expects that the request has no decision in the audit log, and that the reason is
// an error.
func expectUndecided(ctx context.Context, node string, secret *corev1.Secret, since time.Time) {
	GinkgoHelper()
	Eventually(ctx, func() ([]map[string]string, error) {
		events, err := suite.Audited(ctx, since.Add(-time.Second), "system:node:"+node)
		var all []map[string]string
		for _, event := range events {
			if event.ObjectRef != nil && event.ObjectRef.Namespace == secret.Namespace && event.ObjectRef.Name == secret.Name {
				all = append(all, event.Annotations)
			}
		}
		return all, err
	}).WithTimeout(Soon).WithPolling(time.Second).Should(ContainElement(SatisfyAll(
		HaveKeyWithValue("authorization.k8s.io/reason", "internal error"),
		Not(HaveKey("authorization.k8s.io/decision")),
	)))
}
