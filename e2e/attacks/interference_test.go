// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// answered is what a node gets for a request: the status, the message, and the annotations of the
// audit event.
type answered struct {
	Request, Message string
	Code             int
	Annotations      map[string]string
}

// The node requests the same names twice: before they exist, and while an administrator has objects
// of those names for another node. components/conformance/interference tests the same on random
// clusters, without an API server.
var _ = Describe("a node and objects that are unrelated to it", Label(OnHost), func() {
	It("gets the same answers with and without them", Denies("NA-SECRET-1"), func(ctx SpecContext) {
		env := suite.Env()
		namespace, name := env.Namespace(ctx), env.NewName("unrelated")
		env.Node(ctx, env.Own)
		before := answersTo(ctx, env, namespace, name)
		for _, answer := range before {
			Expect(answer.Code).To(Equal(http.StatusForbidden), "%s: %s", answer.Request, answer.Message)
		}

		env.Put(ctx, fixtures.Secret(namespace, name), fixtures.ConfigMap(namespace, name),
			fixtures.ServiceAccount(namespace, name), fixtures.Claim(namespace, name, name),
			fixtures.ResourceClaim(namespace, name), fixtures.VolumeAttachment(name, name, env.Other))
		env.Pod(ctx, env.Other, fixtures.WithSecret(name), fixtures.WithConfigMap(name))
		for i, answer := range answersTo(ctx, env, namespace, name) {
			Expect(answer).To(Equal(before[i]))
		}
	})
})

// aboutNames are reads of objects of these names.
func aboutNames(namespace, name, other string) []Request {
	return []Request{
		Get(api.Secrets).In(namespace).Named(name), List(api.Secrets).In(namespace).Where("metadata.name=" + name),
		Get(api.ConfigMaps).In(namespace).Named(name), Get(api.ServiceAccounts).In(namespace).Named(name),
		Get(api.PersistentVolumeClaims).In(namespace).Named(name), Get(api.ResourceClaims).In(namespace).Named(name),
		Get(api.VolumeAttachments).Named(name), Get(api.Nodes).Named(other),
		List(api.Pods).Where("spec.nodeName=" + other),
	}
}

// answersTo makes the requests as the Env's own node. On a busy machine the API server may not answer
// the live read before a denial in time, and the denial says so. Then all requests are repeated.
func answersTo(ctx context.Context, env *Env, namespace, name string) []answered {
	GinkgoHelper()
	const rounds = 5
	for range rounds {
		answers := answersOnce(ctx, env, namespace, name)
		if !slices.ContainsFunc(answers, func(a answered) bool { return strings.Contains(a.Message, unconfirmed) }) {
			return answers
		}
		AddReportEntry("a live read did not succeed", answers)
	}
	Fail(fmt.Sprintf("in each of %d rounds, an answer was not confirmed by a live read", rounds))
	return nil
}

// unconfirmed is a part of a denial without a live read.
const unconfirmed = "not confirmed by a live read"

// answersOnce makes the requests one after the other.
func answersOnce(ctx context.Context, env *Env, namespace, name string) []answered {
	GinkgoHelper()
	since, node := time.Now(), suite.AsNode(env.Own)
	var answers []answered
	for _, request := range aboutNames(namespace, name, env.Other) {
		code, message, err := node.Send(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		answers = append(answers, answered{Request: request.String(), Code: code, Message: message})
	}
	events := auditedOf(ctx, since, node, len(answers))
	for i := range answers {
		answers[i].Annotations = events[i].Annotations
		// The API server adds the latency of slow requests, which depends on the load of the machine.
		maps.DeleteFunc(answers[i].Annotations, func(key, _ string) bool {
			return strings.HasPrefix(key, "apiserver.latency.k8s.io/")
		})
	}
	return answers
}

// auditedOf returns the audit events of the node's requests since a time, in their order.
func auditedOf(ctx context.Context, since time.Time, node *Identity, count int) []auditv1.Event {
	GinkgoHelper()
	var events []auditv1.Event
	Eventually(ctx, func(ctx context.Context) (int, error) {
		all, err := suite.Audited(ctx, since, node.User)
		events = slices.DeleteFunc(all, func(e auditv1.Event) bool { return e.Stage != auditv1.StageResponseComplete })
		return len(events), err
	}).WithTimeout(Soon).WithPolling(time.Second).Should(Equal(count), "audit events of %s", node)
	slices.SortStableFunc(events, func(a, b auditv1.Event) int {
		return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp.Time)
	})
	return events
}
