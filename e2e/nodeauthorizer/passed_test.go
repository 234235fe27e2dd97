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

var _ = DescribeTable("requests of a node that node-authorizer leaves to the other authorizers", decide,
	Entry("discovery of the API: allowed", AllowsBy("NA-PASS-1", Behind), plainly(GetPath("/api"))),
	Entry("version of the API server: allowed", AllowsBy("NA-PASS-1", Behind), plainly(GetPath("/version"))),
	Entry("metrics of the API server: denied", Denies("NA-PASS-1"), plainly(GetPath("/metrics"))),
	Entry("logs of the API server: denied", Denies("NA-PASS-1"), plainly(GetPath("/logs"))),

	Entry("SelfSubjectReview: allowed", AllowsBy("NA-PASS-2", Behind),
		plainly(Create(api.SelfSubjectReviews).With(struct{}{}))),
	Entry("SelfSubjectAccessReview: allowed", AllowsBy("NA-PASS-2", Behind),
		plainly(Create(api.SelfSubjectAccessReviews).With(fixtures.SelfSubjectAccessReview()))),
	Entry("list of SelfSubjectAccessReviews: denied", Denies("NA-PASS-2"), plainly(List(api.SelfSubjectAccessReviews))),

	Entry("renewal of its own certificate: allowed", AllowsBy("NA-PASS-3", Behind), approval("selfnodeclient")),
	Entry("certificate of another node: denied", Denies("NA-PASS-3"), approval("nodeclient")),

	Entry("read of kubeadm's configuration: allowed", AllowsBy("NA-PASS-4", Behind), kubeadmConfig(Get(api.ConfigMaps))),
	Entry("change of kubeadm's configuration: denied", Denies("NA-PASS-4"), kubeadmConfig(Patch(api.ConfigMaps)),
		onlyReads),

	Entry("audience of a token: allowed", AllowsBy("NA-PASS-5", Behind), audienceGranted),
	Entry("audience of a token in another API group: denied", Denies("NA-PASS-5"),
		inNamespace(func(ns string) Request { return Ask(audienceVerb, audienceIn("e2e.bulkhead.dev")).In(ns) })),
)
