// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

type certificateTweak func(context.Context, *Env, *certificatesv1.PodCertificateRequest)

// certificate requests the certificate of a pod on the node. The tweaks edit the request.
func certificate(tweaks ...certificateTweak) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := e.Pod(ctx, e.Own, fixtures.WithCertificate(fixtures.Signer))
		return certificateOf(ctx, e, pod, tweaks...)
	}
}

func certificateOf(ctx context.Context, e *Env, pod *corev1.Pod, tweaks ...certificateTweak) Request {
	request := must(fixtures.PodCertificateRequest(e.NewName("request"), pod, e.Account(ctx), e.Node(ctx, e.Own)))
	for _, tweak := range tweaks {
		tweak(ctx, e, request)
	}
	return Create(api.PodCertificateRequests).In(request.Namespace).With(request)
}

func inNameOfOther(ctx context.Context, e *Env, r *certificatesv1.PodCertificateRequest) {
	node := e.Node(ctx, e.Other)
	r.Spec.NodeName, r.Spec.NodeUID = "e2e-nobody", node.UID
}

func forOthersPod(ctx context.Context, e *Env, r *certificatesv1.PodCertificateRequest) {
	pod := e.Pod(ctx, e.Other, fixtures.WithCertificate(fixtures.Signer))
	r.Spec.PodName, r.Spec.PodUID = pod.Name, pod.UID
}

func forAnotherAccount(ctx context.Context, e *Env, r *certificatesv1.PodCertificateRequest) {
	account := fixtures.ServiceAccount(e.Namespace(ctx), "another")
	e.Put(ctx, account)
	r.Spec.ServiceAccountName, r.Spec.ServiceAccountUID = account.Name, account.UID
}

func byAnotherSigner(_ context.Context, _ *Env, r *certificatesv1.PodCertificateRequest) {
	r.Spec.SignerName = "e2e.bulkhead.dev/another"
}

var _ = DescribeTable("a node that requests a pod's certificate", admit,
	Entry("creates a request", Allows("NR-PCR-1"), certificate()),
	Entry("names its own Node", Allows("NR-PCR-2"), certificate()),
	Entry("does not name another Node", Denies("NR-PCR-2"), certificate(inNameOfOther), ""),
	Entry("names its own pod", Allows("NR-PCR-3"), certificate()),
	Entry("does not name another node's pod", Denies("NR-PCR-3"), certificate(forOthersPod), "is not running on node"),
	Entry("names the pod's account", Allows("NR-PCR-4"), certificate()),
	Entry("does not name another account", Denies("NR-PCR-4"), certificate(forAnotherAccount), ""),
	Entry("names the signer of the pod", Allows("NR-PCR-5"), certificate()),
	Entry("does not name another signer", Denies("NR-PCR-5"), certificate(byAnotherSigner),
		"does not mount a podCertificate projected volume for signer"),
	Entry("creates a request below the limit", Allows("NR-PCR-6"), certificate()),
)

var _ = It("a node to which RBAC grants pod certificate requests does not delete one", Denies("NR-PCR-1"),
	func(ctx SpecContext) {
		makeRequest := func(ctx context.Context, e *Env) Request {
			pod := e.Pod(ctx, e.Own, fixtures.WithCertificate(fixtures.Signer))
			request := must(fixtures.PodCertificateRequest(e.NewName("request"), pod, e.Account(ctx), e.Node(ctx, e.Own)))
			e.Put(ctx, request)
			return Delete(api.PodCertificateRequests).In(request.Namespace).Named(request.Name)
		}
		admitGranted(ctx, granted(makeRequest, rbacv1.PolicyRule{
			Verbs: []string{"delete"}, APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"podcertificaterequests"},
		}), "unexpected operation")
	})
