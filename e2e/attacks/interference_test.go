// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
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

// The node, which is impersonated, reads the same names twice: before objects of these names exist, and
// while they exist for another node. interference_generated_test.go does the same with random objects, with
// writes and with a scoped pod.
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
	var (
		answers []answered
		ids     []types.UID
	)
	for _, request := range aboutNames(namespace, name, env.Other) {
		id := uuid.NewUUID()
		code, message, err := node.Send(ctx, request.WithAuditID(id))
		Expect(err).NotTo(HaveOccurred())
		ids = append(ids, id)
		answers = append(answers, answered{Request: request.String(), Code: code, Message: message})
	}
	Eventually(ctx, func() error {
		events, err := suite.Audited(ctx, since, node.User)
		return cmp.Or(err, annotate(answers, ids, events))
	}).WithTimeout(Soon).WithPolling(time.Second).Should(Succeed())
	return answers
}

// grants are names in the reasons of RBAC. All specs of a suite use the same account, so the binding of
// another spec can allow the same request.
var grants = regexp.MustCompile(`\be2e-(witness|granted)-[a-z0-9]+`)

// stable removes the latency of slow requests, which depends on the load of the machine, and the names of grants.
func stable(annotations map[string]string) map[string]string {
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return strings.HasPrefix(key, "apiserver.latency.k8s.io/")
	})
	for key, text := range annotations {
		annotations[key] = grants.ReplaceAllString(text, "$1")
	}
	return annotations
}

// annotate adds the annotations of the audit events to the answers. The IDs are in the order of the answers.
func annotate(answers []answered, ids []types.UID, events []auditv1.Event) error {
	annotations := map[types.UID]map[string]string{}
	for _, e := range events {
		if e.Stage == auditv1.StageResponseComplete {
			annotations[e.AuditID] = e.Annotations
		}
	}
	for i, id := range ids {
		of, found := annotations[id]
		if !found {
			return fmt.Errorf("the audit log does not have the request %s", answers[i].Request)
		}
		answers[i].Annotations = stable(of)
	}
	return nil
}
