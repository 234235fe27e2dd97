// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	audience     = "e2e-audience"
	audienceVerb = "request-serviceaccounts-token-audience"
)

// audienceIn is the resource that NodeRestriction uses for an audience, in an API group.
func audienceIn(group string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: audience}
}

// audienceGranted grants the node an audience in RBAC, and makes the check that NodeRestriction
// makes.
func audienceGranted(ctx context.Context, e *Env) Request {
	namespace := e.Namespace(ctx)
	role, binding := fixtures.RoleFor(namespace, "audience", "system:node:"+e.Own, rbacv1.PolicyRule{
		Verbs: []string{audienceVerb}, APIGroups: []string{""}, Resources: []string{audience},
	})
	e.Put(ctx, role, binding)
	return Ask(audienceVerb, audienceIn("")).In(namespace).Named(fixtures.Account)
}

func kubeadmConfig(r Request) RequestFunc {
	return plainly(r.In("kube-system").Named("kubeadm-config"))
}

// approval is the check that kube-controller-manager makes about a node that requests a
// certificate. The subresource does not exist, so an allowed request returns "not found".
func approval(subresource string) RequestFunc {
	return plainly(Create(api.CertificateSigningRequests).Named("any").Sub(subresource).With(struct{}{}).OrMissing())
}

var _ = DescribeTable("what the authorizers behind decide for a node", decide,
	Entry("the API's discovery", AllowsBy("NA-PASS-1", Behind), plainly(GetPath("/api"))),
	Entry("the API's version", AllowsBy("NA-PASS-1", Behind), plainly(GetPath("/version"))),
	Entry("but not its metrics", Denies("NA-PASS-1"), plainly(GetPath("/metrics"))),
	Entry("nor its logs", Denies("NA-PASS-1"), plainly(GetPath("/logs"))),

	Entry("who it is", AllowsBy("NA-PASS-2", Behind), plainly(Create(api.SelfSubjectReviews).With(struct{}{}))),
	Entry("what it may do", AllowsBy("NA-PASS-2", Behind),
		plainly(Create(api.SelfSubjectAccessReviews).With(fixtures.SelfSubjectAccessReview()))),
	Entry("but no list of such reviews", Denies("NA-PASS-2"), plainly(List(api.SelfSubjectAccessReviews))),

	Entry("the renewal of its own certificate", AllowsBy("NA-PASS-3", Behind), approval("selfnodeclient")),
	Entry("but not the certificate of another node", Denies("NA-PASS-3"), approval("nodeclient")),

	Entry("kubeadm's configuration", AllowsBy("NA-PASS-4", Behind), kubeadmConfig(Get(api.ConfigMaps))),
	Entry("but no change of it", Denies("NA-PASS-4"), kubeadmConfig(Patch(api.ConfigMaps)), onlyReads),

	Entry("the audience of a token", AllowsBy("NA-PASS-5", Behind), audienceGranted),
	Entry("but not the audience of a token in another API group", Denies("NA-PASS-5"),
		inNamespace(func(ns string) Request { return Ask(audienceVerb, audienceIn("e2e.bulkhead.dev")).In(ns) })),
)
