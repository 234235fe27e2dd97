// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// expectedRefusal is a refusal that a healthy kubelet meets on this cluster.
type expectedRefusal struct {
	// reason is what the refusal says.
	reason *regexp.Regexp
	// when must hold too; gone is what [deletions] says.
	when func(refusal auditv1.Event, gone map[string]time.Time) bool
	why  string
}

// expectedRefusals is the list that every refusal of a real kubelet must be on.
var expectedRefusals = []expectedRefusal{
	{
		reason: regexp.MustCompile(`no relationship found between node .* and this object`),
		when:   isPodThatIsGone,
		why: "before it reports on a pod, the kubelet gets it; specs delete pods without a grace period, so it still does " +
			"when " +
			"the API server has forgotten them, and the answer is a refusal where it could be 404; upstream refuses the same",
	},
	{
		reason: regexp.MustCompile(`no relationship found between node .* and this object`),
		when:   isForPodsThatAreGone,
		why: "for the same pods it may still be mounting secrets, config maps, tokens and volumes, or watching them, until " +
			"it " +
			"hears of the deletion; upstream refuses the same",
	},
	{
		reason: regexp.MustCompile(`no relationship found between node .* and this object`),
		when:   isStaticPod,
		why: "of a static pod it gets the mirror pod before it reports on it, also when there is none: before it has made " +
			"one, " +
			"while admission refuses it, and after it has deleted it; upstream refuses the same",
	},
}

// isStaticPod is true for the name that a kubelet gives a static pod in the API.
func isStaticPod(refusal auditv1.Event, _ map[string]time.Time) bool {
	ref := refusal.ObjectRef
	return ref.Resource == "pods" && refusal.Verb == "get" &&
		strings.HasSuffix(ref.Name, "-"+strings.TrimPrefix(refusal.User.Username, "system:node:"))
}

func isPodThatIsGone(refusal auditv1.Event, gone map[string]time.Time) bool {
	ref := refusal.ObjectRef
	return ref.Resource == "pods" &&
		(wasGone(refusal, gone, ref.Namespace) || wasGone(refusal, gone, ref.Namespace+"/"+ref.Name))
}

func isForPodsThatAreGone(refusal auditv1.Event, gone map[string]time.Time) bool {
	ref := refusal.ObjectRef
	return ref.Resource != "pods" && (wasGone(refusal, gone, ref.Namespace) || wasGone(refusal, gone, ref.Namespace+"/"))
}

// wasGone reports whether the deletion began before the refusal.
func wasGone(refusal auditv1.Event, gone map[string]time.Time, key string) bool {
	at, ok := gone[key]
	return ok && !refusal.RequestReceivedTimestamp.Time.Before(at)
}

// afterlife is longer than a kubelet asks for a pod that was deleted: it has hung
// up within the grace period of its containers.
const afterlife = 2 * time.Minute

// refusalsOf are the refusals of the node's kubelet since a moment: those that are
// not on the list, each kind of them once and how often, and how many are.
func refusalsOf(ctx context.Context, node string, since time.Time) (unexpected map[string]int, expected int,
	err error) {
	events, err := suite.AuditedWhere(ctx, since, `"user":{"username":"system:node:`+node+`"`,
		`"authorization.k8s.io/decision":"forbid"`)
	if err != nil {
		return nil, 0, err
	}
	// A kubelet goes on asking for what was deleted a moment before.
	gone, err := deletions(ctx, since.Add(-afterlife))
	if err != nil {
		return nil, 0, err
	}
	unexpected = map[string]int{}
	for _, event := range events {
		switch {
		case event.ImpersonatedUser != nil || !strings.HasPrefix(event.UserAgent, "kubelet/"):
			// A spec, with the same certificate or by impersonation.
		case isExpected(event, gone):
			expected++
		default:
			unexpected[describe(event)]++
		}
	}
	return unexpected, expected, nil
}

func isExpected(refusal auditv1.Event, gone map[string]time.Time) bool {
	reason := refusal.Annotations["authorization.k8s.io/reason"]
	return refusal.ObjectRef != nil && slices.ContainsFunc(expectedRefusals, func(e expectedRefusal) bool {
		return e.reason.MatchString(reason) && e.when(refusal, gone)
	})
}

func describe(refusal auditv1.Event) string {
	return fmt.Sprintf("%s %s: %s", refusal.Verb, refusal.RequestURI, refusal.Annotations["authorization.k8s.io/reason"])
}

// deletions says when namespaces ("ns"), pods ("ns/pod") and, in the namespaces of
// specs, the first of all pods ("ns/") began to be deleted.
func deletions(ctx context.Context, since time.Time) (map[string]time.Time, error) {
	events, err := suite.AuditedWhere(ctx, since, `"verb":"delete`)
	gone := map[string]time.Time{}
	note := func(key string, event auditv1.Event) {
		if at, ok := gone[key]; !ok || event.RequestReceivedTimestamp.Time.Before(at) {
			gone[key] = event.RequestReceivedTimestamp.Time
		}
	}
	for _, event := range events {
		ref := event.ObjectRef
		switch {
		case ref == nil || ref.Subresource != "":
		case ref.Resource == "namespaces":
			note(ref.Name, event)
		case ref.Resource == "pods" && ref.Name == "":
			// A collection was deleted: all pods of the namespace.
			note(ref.Namespace, event)
		case ref.Resource == "pods":
			note(ref.Namespace+"/"+ref.Name, event)
			if strings.HasPrefix(ref.Namespace, "e2e-") {
				note(ref.Namespace+"/", event)
			}
		}
	}
	return gone, err
}

// expectExpected holds the kubelet's refusals against the list. On in-tree they
// are only counted: that they occur there is why we are here.
func expectExpected(ctx context.Context, node string, since time.Time, during string) {
	GinkgoHelper()
	unexpected, expected, err := refusalsOf(ctx, node, since)
	Expect(err).NotTo(HaveOccurred())
	total := 0
	for n := range maps.Values(unexpected) {
		total += n
	}
	Measured(fmt.Sprintf("refusals of the kubelet of %s %s", node, during),
		fmt.Sprintf("%d on the list, %d not", expected, total))
	if suite.Settings.Profile != InTree {
		Expect(unexpected).To(BeEmpty())
	}
}

// realPods is how many pods are started. On the other profiles fewer show that
// nothing stands in their way.
func realPods() int {
	if suite.Settings.Profile == Hardened {
		return 60
	}
	return 15
}

// manyStart bounds the start of that many pods.
const manyStart = 5 * time.Minute

var _ = Describe("a real kubelet", Label(OnHost, OnWorker, Slow), func() {
	It("starts many pods with secrets and config maps and is refused nothing", PollProgressAfter(manyStart),
		Allows("NA-SECRET-1"), Allows("NA-CM-1"), func(ctx SpecContext) {
			TakeMachine(ctx)
			begun, scene := time.Now(), suite.Scene()
			namespace := scene.Namespace(ctx)
			for i := range realPods() {
				name := fmt.Sprintf("real-%d", i)
				scene.Put(ctx, fixtures.Secret(namespace, name), fixtures.ConfigMap(namespace, name),
					fixtures.Pod(namespace, name, suite.Worker, fixtures.WithSecret(name), fixtures.WithConfigMap(name),
						fixtures.WithToken(), awaited))
			}
			Eventually(ctx, readyPods(namespace)).WithTimeout(manyStart).WithPolling(time.Second).Should(Equal(realPods()))
			Measured("real pods", fmt.Sprintf("%d Ready after %s", realPods(), time.Since(begun).Round(time.Second)))
			expectExpected(ctx, suite.Worker, begun, "while they start")
			endAll(ctx, namespace)
		})
})

// awaited is a pod that is not gone before its kubelet has ended it.
func awaited(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1) }

// endAll waits for the end of many pods: a kubelet that has so much to do takes the machine
// from the specs that come next.
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

// Serial: it comes after the specs that run beside each other, and looks at what
// the kubelets met during them, and since the profile was installed.
var _ = Describe("the kubelets of the cluster, since the API server started", Serial, Label(OnHost, OnWorker), func() {
	DescribeTable("were refused nothing but what is on the list", Allows("NA-DEFAULT"),
		func(ctx SpecContext, node func() string) {
			expectExpected(ctx, node(), must(suite.Registered(ctx, node())), "since the API server started")
		},
		Entry("the worker's", func() string { return suite.Worker }),
		Entry("the control plane's", func() string { return suite.ControlPlane }),
	)
})
