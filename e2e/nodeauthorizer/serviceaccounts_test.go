// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// accountOn is a request about the account of a pod on a node.
func accountOn(where place, r Request, tweaks ...fixtures.PodTweak) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := e.Pod(ctx, where(e), tweaks...)
		return r.In(pod.Namespace).Named(pod.Spec.ServiceAccountName)
	}
}

// tokenFor requests a token that is bound to a pod on a node and that the pod mounts.
func tokenFor(where place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := e.Pod(ctx, where(e), fixtures.WithToken())
		return Create(api.ServiceAccounts).In(pod.Namespace).Named(pod.Spec.ServiceAccountName).
			Sub("token").With(fixtures.TokenRequest(pod))
	}
}

// grantedToken requests a token that is bound to a pod on the node. An administrator has granted
// its audience to the node.
func grantedToken(tweaks ...fixtures.PodTweak) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := e.Pod(ctx, e.Own, tweaks...)
		_ = audienceGranted(ctx, e)
		return Create(api.ServiceAccounts).In(pod.Namespace).Named(pod.Spec.ServiceAccountName).
			Sub("token").With(fixtures.TokenRequestFor(pod, audience))
	}
}

const (
	onlyTokensOfOne = "can only create tokens for individual service accounts"
	onlyTokens      = "can only create token subresource of serviceaccount"
)

// certified is a pod with certificates that name its account, so its node reads the account.
var certified = fixtures.WithCertificate(fixtures.Signer)

// unusableAccount is the account of a pod without a token and without a certificate.
var unusableAccount = accountOn(own, Get(api.ServiceAccounts))

var _ = DescribeTable("a node and a service account", decide,
	Entry("gets one that a pod on it runs as", Allows("NA-SA-1"), accountOn(own, Get(api.ServiceAccounts), certified)),
	Entry("does not get one that a pod on another node runs as", Denies("NA-SA-1"),
		accountOn(other, Get(api.ServiceAccounts), certified), unrelated),

	Entry("creates a token for a pod on it", Allows("NA-SA-2"), tokenFor(own)),
	Entry("does not create a token for a pod on another node", Denies("NA-SA-2"), tokenFor(other), unrelated),
	Entry("gets one for which a pod on it has certificates", AllowsBy("NA-SA-3", "NA-SA-1"),
		accountOn(own, Get(api.ServiceAccounts), certified)),
	Entry("does not get one that a pod on it runs as without tokens or certificates", DeniesBeyond("NA-SA-3", "NA-SA-1"),
		unusableAccount),
	Entry("does not get one of which a pod on it mounts only tokens", DeniesBeyond("NA-SA-3", "NA-SA-1"),
		accountOn(own, Get(api.ServiceAccounts), fixtures.WithToken())),
	Entry("creates a token for a pod on it that mounts a token", AllowsBy("NA-SA-3", "NA-SA-2"),
		grantedToken(fixtures.WithTokenFor(audience))),
	Entry("does not create a token for a pod on it that mounts no token", DeniesBeyond("NA-SA-3", "NA-SA-2"),
		grantedToken()),
	Entry("does not create a token for a pod on it that mounts a certificate", DeniesBeyond("NA-SA-3", "NA-SA-2"),
		grantedToken(certified)),

	Entry("does not list the accounts of a namespace", Denies("NA-SA-2"),
		inNamespace(func(ns string) Request { return List(api.ServiceAccounts).In(ns) }), onlyTokensOfOne),
	Entry("does not patch one that a pod on it runs as", Denies("NA-SA-2"),
		accountOn(own, Patch(api.ServiceAccounts)), onlyTokensOfOne),
	Entry("creates no other subresource of one that a pod on it runs as", Denies("NA-SA-2"),
		accountOn(own, Create(api.ServiceAccounts).Sub("scale").With(struct{}{})), onlyTokens),
)
