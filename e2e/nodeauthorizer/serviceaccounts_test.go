// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// accountOn asks about the account that a pod on a node runs as.
func accountOn(where place, r Request) Story {
	return func(ctx context.Context, s *Scene) Request {
		pod := s.Pod(ctx, where(s))
		return r.In(pod.Namespace).Named(pod.Spec.ServiceAccountName)
	}
}

// tokenFor asks for a token that is bound to a pod on a node and that the pod
// mounts.
func tokenFor(where place) Story {
	return func(ctx context.Context, s *Scene) Request {
		pod := s.Pod(ctx, where(s), fixtures.WithToken())
		return Create(api.ServiceAccounts).In(pod.Namespace).Named(pod.Spec.ServiceAccountName).
			Sub("token").With(fixtures.TokenRequest(pod))
	}
}

const (
	onlyTokensOfOne = "can only create tokens for individual service accounts"
	onlyTokens      = "can only create token subresource of serviceaccount"
)

var _ = DescribeTable("a node and a service account", decide,
	Entry("gets one that a pod on it runs as", Allows("NA-SA-1"), accountOn(own, Get(api.ServiceAccounts))),
	Entry("does not get one that a pod on another node runs as", Denies("NA-SA-1"),
		accountOn(other, Get(api.ServiceAccounts)), unrelated),

	Entry("creates a token for a pod on it", Allows("NA-SA-2"), tokenFor(own)),
	Entry("does not create a token for a pod on another node", Denies("NA-SA-2"), tokenFor(other), unrelated),
	Entry("does not list those of a namespace", Denies("NA-SA-2"),
		inNamespace(func(ns string) Request { return List(api.ServiceAccounts).In(ns) }), onlyTokensOfOne),
	Entry("does not patch one that a pod on it runs as", Denies("NA-SA-2"),
		accountOn(own, Patch(api.ServiceAccounts)), onlyTokensOfOne),
	Entry("creates no other subresource of one that a pod on it runs as", Denies("NA-SA-2"),
		accountOn(own, Create(api.ServiceAccounts).Sub("scale").With(struct{}{})), onlyTokens),
)
