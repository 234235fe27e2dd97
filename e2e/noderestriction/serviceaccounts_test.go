// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const audience = "e2e.bulkhead.dev"

// token requests a token that is bound to a pod of the node and that the pod mounts. The tweaks
// edit the request.
func token(tweaks ...func(*authenticationv1.TokenRequest)) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		return tokenOf(e.Pod(ctx, e.Own, fixtures.WithToken()), tweaks...)
	}
}

func tokenOf(pod *corev1.Pod, tweaks ...func(*authenticationv1.TokenRequest)) Request {
	request := fixtures.TokenRequest(pod)
	for _, tweak := range tweaks {
		tweak(request)
	}
	return Create(api.ServiceAccounts).In(pod.Namespace).Named(pod.Spec.ServiceAccountName).Sub("token").With(request)
}

// otherNodesToken is bound to a pod of another node. A pod of the own node uses the same account.
func otherNodesToken(ctx context.Context, e *Env) Request {
	e.Pod(ctx, e.Own, fixtures.WithToken())
	return tokenOf(e.Pod(ctx, e.Other, fixtures.WithToken()))
}

// anothersToken is for an account that the pod does not use. Another pod on the node uses it.
func anothersToken(ctx context.Context, e *Env) Request {
	account := fixtures.ServiceAccount(e.Namespace(ctx), "another")
	e.Put(ctx, account)
	e.Pod(ctx, e.Own, fixtures.WithToken(), fixtures.As(account.Name))
	request := tokenOf(e.Pod(ctx, e.Own, fixtures.WithToken()))
	return request.Named(account.Name)
}

func forAudience(names ...string) func(*authenticationv1.TokenRequest) {
	return func(r *authenticationv1.TokenRequest) { r.Spec.Audiences = names }
}

func living(seconds int64) func(*authenticationv1.TokenRequest) {
	return func(r *authenticationv1.TokenRequest) { r.Spec.ExpirationSeconds = ptr.To(seconds) }
}

func mountingFor(tweak func(*authenticationv1.TokenRequest)) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		return tokenOf(e.Pod(ctx, e.Own, fixtures.WithTokenFor(audience)), tweak)
	}
}

var _ = DescribeTable("a node that requests a token", admit,
	Entry("gets one that is bound to a pod", Allows("NR-SA-1"), token()),
	Entry("gets none that is not bound", Denies("NR-SA-1"), token(func(r *authenticationv1.TokenRequest) {
		r.Spec.BoundObjectRef = nil
	}), "node requested token not bound to a pod"),
	Entry("gets none that is bound to another kind", Denies("NR-SA-1"), token(func(r *authenticationv1.TokenRequest) {
		r.Spec.BoundObjectRef.Kind = "Secret"
	}), "node requested token not bound to a pod"),
	Entry("gets none without a UID", Denies("NR-SA-1"), token(func(r *authenticationv1.TokenRequest) {
		r.Spec.BoundObjectRef.UID = ""
	}), "node requested token with a pod binding without a uid"),

	Entry("gets one of a pod that exists", Allows("NR-SA-2"), token()),
	Entry("gets none of a deleted pod of the same name", Denies("NR-SA-2"),
		token(func(r *authenticationv1.TokenRequest) {
			r.Spec.BoundObjectRef.UID = "another"
		}), "does not match the UID in record"),

	Entry("gets one of its own pod", Allows("NR-SA-3"), token()),
	Entry("gets none of another node's pod", Denies("NR-SA-3"), otherNodesToken,
		"node requested token bound to a pod scheduled on a different node"),

	Entry("gets one for an audience that the pod mounts", Allows("NR-SA-4"), mountingFor(forAudience(audience))),
	Entry("gets none for another audience", Denies("NR-SA-4"), mountingFor(forAudience("vault")),
		"is not authorized to request tokens for audience"),
	Entry("gets none for two audiences", Denies("NR-SA-4"), mountingFor(forAudience(audience, "vault")),
		"node may only request 0 or 1 audiences"),

	Entry("gets one of the pod's account", Allows("NR-SA-5"), token()),
	Entry("gets one with the lifetime that kubelets request", Allows("NR-SA-6"), token(living(3607))),
	Entry("gets none with a lifetime of 10 years", DeniesBeyond("NR-SA-6", Behind), token(living(10*365*24*3600))),
)

var _ = It("a node gets no token of another account than its pod's", Denies("NR-SA-5"), Label(OnHardened),
	func(ctx SpecContext) {
		admit(ctx, anothersToken)
	})

var _ = It("a node gets no token of a deleted pod", Denies("NR-SA-2"), func(ctx SpecContext) {
	env := suite.Env()
	env.Pod(ctx, env.Own, fixtures.WithToken())
	gone := fixtures.Pod(env.Namespace(ctx), "gone", env.Own)
	gone.UID = "gone"
	suite.ExpectRefusedWrite(ctx, suite.AsNode(env.Own), tokenOf(gone),
		Refusal{By: "NR-SA-2", Code: 404, Text: "not found"})
})
