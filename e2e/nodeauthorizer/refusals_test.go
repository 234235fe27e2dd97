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
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// expectedRefusal is a denial that a healthy kubelet receives on this cluster.
type expectedRefusal struct {
	// reason must match the reason of the denial.
	reason *regexp.Regexp
	// when must return true, too. gone is the result of [deletions].
	when func(refusal auditv1.Event, gone map[string]time.Time) bool
	why  string
}

// unansweredRead matches the reason of a denial on an overloaded machine: the live read was too
// slow, it did not begin in time, or the API server gave up the request before. It does not match
// "the node's budget of reads is spent": a healthy kubelet does not use up its own share.
var unansweredRead = regexp.MustCompile(`not confirmed by a live read: ` +
	`(the API server did not answer in time|the budget of reads is spent|the request was given up)`)

// expectedRefusals is the list that every denial of a real kubelet must be on.
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
	{
		reason: unansweredRead,
		when:   func(auditv1.Event, map[string]time.Time) bool { return true },
		why: "on a machine that is overloaded, a pod can be too new for the view while the API server needs longer than " +
			"a live read may take; the kubelet repeats the request",
	},
	{
		reason: regexp.MustCompile(`no relationship found between node .* and this object`),
		when:   isCached,
		why: "answercache_test.go turns on the API server's cache for answers of Bulkhead, to show that a cached denial " +
			"outlives its reason",
	},
}

// isCached reports whether the denial is for the secret of answercache_test.go that is denied by a cached
// answer.
func isCached(refusal auditv1.Event, _ map[string]time.Time) bool {
	ref := refusal.ObjectRef
	return ref.Resource == "secrets" && ref.Name == cachedSecret && strings.HasPrefix(ref.Namespace, "e2e-")
}

// isStaticPod reports whether the name is one that a kubelet gives to a static pod in the API.
func isStaticPod(refusal auditv1.Event, _ map[string]time.Time) bool {
	ref := refusal.ObjectRef
	return ref.Resource == "pods" && refusal.Verb == "get" &&
		strings.HasSuffix(ref.Name, "-"+strings.TrimPrefix(refusal.User.Username, "system:node:"))
}

func isPodThatIsGone(refusal auditv1.Event, gone map[string]time.Time) bool {
	ref := refusal.ObjectRef
	return ref.Resource == "pods" &&
		(deletedBefore(refusal, gone, ref.Namespace) || deletedBefore(refusal, gone, ref.Namespace+"/"+ref.Name))
}

func isForPodsThatAreGone(refusal auditv1.Event, gone map[string]time.Time) bool {
	ref := refusal.ObjectRef
	return ref.Resource != "pods" && (deletedBefore(refusal, gone, ref.Namespace) ||
		deletedBefore(refusal, gone, ref.Namespace+"/"))
}

// deletedBefore reports whether the deletion began before the denial. The denied request may have
// begun earlier: its decision takes longer on a slow machine.
func deletedBefore(refusal auditv1.Event, gone map[string]time.Time, key string) bool {
	at, ok := gone[key]
	return ok && !refusal.StageTimestamp.Time.Before(at)
}

// afterlife is longer than a kubelet makes requests for a deleted pod. It stops within the grace
// period of the pod's containers.
const afterlife = 2 * time.Minute

// refusalsOf returns the denials of the node's kubelet since a time. unexpected counts each kind of
// denial that is not on the list. expected is the number of denials on the list.
func refusalsOf(ctx context.Context, node string, since time.Time) (unexpected map[string]int, expected int,
	err error) {
	events, err := suite.AuditedWhere(ctx, since, `"user":{"username":"system:node:`+node+`"`,
		`"authorization.k8s.io/decision":"forbid"`)
	if err != nil {
		return nil, 0, err
	}
	// A kubelet continues to request objects that were deleted shortly before.
	gone, err := deletions(ctx, since.Add(-afterlife))
	if err != nil {
		return nil, 0, err
	}
	unexpected = map[string]int{}
	for _, event := range events {
		switch {
		case event.ImpersonatedUser != nil || !strings.HasPrefix(event.UserAgent, "kubelet/"):
			// The request is from a spec, with the same certificate or by impersonation.
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

// deletions returns when the deletion of objects began. The keys are "ns" for a namespace, "ns/pod"
// for a pod and, in the namespaces of specs, "ns/" for the first of all pods.
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

// expectExpected compares the kubelet's denials with the list. On in-tree they are only counted:
// wrong denials there are the reason for this project.
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

// Only on hardened: on the other profiles, the spec would wait for the heavy specs of another cluster.
var _ = Describe("a real kubelet", Label(OnHost, OnWorker, OnHardened, Slow), SpecPriority(1), func() {
	It("starts many pods with secrets and config maps without a denial", PollProgressAfter(manyStart),
		Allows("NA-SECRET-1"), Allows("NA-CM-1"), func(ctx SpecContext) {
			TakeMachine(ctx)
			begun, env := time.Now(), suite.Env()
			namespace := env.Namespace(ctx)
			for i := range realPods {
				name := fmt.Sprintf("real-%d", i)
				env.Put(ctx, fixtures.Secret(namespace, name), fixtures.ConfigMap(namespace, name),
					fixtures.Pod(namespace, name, suite.Worker, fixtures.WithSecret(name), fixtures.WithConfigMap(name),
						fixtures.WithToken(), awaited))
			}
			Eventually(ctx, readyPods(namespace)).WithTimeout(manyStart).WithPolling(time.Second).Should(Equal(realPods))
			Measured("real pods", fmt.Sprintf("%d Ready after %s", realPods, time.Since(begun).Round(time.Second)))
			expectExpected(ctx, suite.Worker, begun, "while they start")
			endAll(ctx, namespace)
		})
})

// Serial: it runs after the parallel specs. It checks the denials that the kubelets received during
// them, and since the profile was installed.
var _ = Describe("the kubelets of the cluster, since the API server started", Serial, Label(OnHost, OnWorker), func() {
	DescribeTable("had no denials except those on the list", Allows("NA-DEFAULT"),
		func(ctx SpecContext, node func() string) {
			expectExpected(ctx, node(), must(suite.Registered(ctx, node())), "since the API server started")
		},
		Entry("the worker's kubelet", func() string { return suite.Worker }),
		Entry("the control plane's kubelet", func() string { return suite.ControlPlane }),
	)
})
