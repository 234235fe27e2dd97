// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// place is a node of the Env.
type place func(*Env) string

func own(e *Env) string   { return e.Own }
func other(e *Env) string { return e.Other }

// fields are the body of a merge patch, or a part of one.
type fields map[string]any

// metadata patches an object's metadata.
func metadata(key string, value any) fields { return fields{"metadata": fields{key: value}} }

// spec and status patch one field of an object.
func spec(key string, value any) fields   { return fields{"spec": fields{key: value}} }
func status(key string, value any) fields { return fields{"status": fields{key: value}} }

// registered creates the Node objects of the Env's own node and of the node that the request
// names.
func registered(where place, r Request) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Own)
		e.Node(ctx, where(e))
		return r.Named(where(e))
	}
}

// podOn creates a pod on a node and writes to it.
func podOn(where place, write func(pod *corev1.Pod) Request, tweaks ...fixtures.PodTweak) RequestFunc {
	return func(ctx context.Context, e *Env) Request { return write(e.Pod(ctx, where(e), tweaks...)) }
}

// aboutPod is a write to a pod, by its name.
func aboutPod(r Request) func(*corev1.Pod) Request {
	return func(pod *corev1.Pod) Request { return r.In(pod.Namespace).Named(pod.Name) }
}

// granted gives the Env's own node a right in RBAC that no node has. It is for rules about
// requests that node-authorizer already denies.
func granted(makeRequest RequestFunc, rule rbacv1.PolicyRule) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Grant(ctx, "system:node:"+e.Own, rule)
		return makeRequest(ctx, e)
	}
}

var createNodes = rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"nodes"}}

// admitGranted is admit for a right that RBAC grants. On hardened no such grant reaches admission:
// node-authorizer is strict, so the spec expects its denial.
func admitGranted(ctx SpecContext, makeRequest RequestFunc, text ...string) {
	GinkgoHelper()
	env := suite.Env()
	switch suite.Settings.Profile {
	case Any:
		skipIfAuthorizersDeny(ctx, suite.AsNode(env.Own), makeRequest(ctx, env))
		fallthrough
	case Parity, InTree:
		admit(ctx, makeRequest, text...)
		return
	}
	expectRefusedByAuthorizer(ctx, suite.AsNode(env.Own), makeRequest(ctx, env))
}

// skipIfAuthorizersDeny skips a spec that claims an allowance if an authorizer denies the request
// although RBAC grants it. Then the request never reaches admission.
func skipIfAuthorizersDeny(ctx context.Context, who *Identity, request Request) {
	GinkgoHelper()
	review, err := suite.Review(ctx, who, request)
	Expect(err).NotTo(HaveOccurred())
	if review.Denied && ReadClaim(CurrentSpecReport().Labels()).Want == Allow {
		Skip("an authorizer denies nodes this request, so admission does not decide about it")
	}
}

func expectRefusedByAuthorizer(ctx context.Context, who *Identity, request Request) {
	GinkgoHelper()
	code, message, err := who.Send(ctx, request)
	Expect(err).NotTo(HaveOccurred())
	Expect(code).To(Equal(http.StatusForbidden), message)
	Expect(message).To(ContainSubstring("[NA-"), "the node authorizer refuses it first")
}

// must returns the value. It fails the spec on an error that only a mistake in the spec could
// cause.
func must[T any](value T, err error) T {
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return value
}
