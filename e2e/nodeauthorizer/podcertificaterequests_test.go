// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// newRequest returns a request for the certificate of a pod on a node.
func newRequest(ctx context.Context, e *Env, node string) *certificatesv1.PodCertificateRequest {
	pod := e.Pod(ctx, node, fixtures.WithCertificate(fixtures.Signer))
	return must(fixtures.PodCertificateRequest(e.NewName("request"), pod, e.Account(ctx), e.Node(ctx, node)))
}

// created creates such a request as the administrator.
func created(where place, question ask) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		request := newRequest(ctx, e, where(e))
		e.Put(ctx, request)
		return question(request.Namespace, request.Name)
	}
}

func createRequest(ctx context.Context, e *Env) Request {
	request := newRequest(ctx, e, e.Own)
	return Create(api.PodCertificateRequests).In(request.Namespace).With(request)
}

func requestsOf(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.Where("spec.nodeName=" + node) })
}

const onlySelectedRequests = "can only list/watch podcertificaterequests with nodeName field selector"

var _ = DescribeTable("a node and a pod certificate request", decide,
	Entry("creates one for a pod on it", Allows("NA-PCR-1"), createRequest),
	Entry("does not delete one of its own", Denies("NA-PCR-1"),
		created(own, named(Delete(api.PodCertificateRequests))), "nodes may not delete podcertificaterequests"),
	Entry("does not get the status of one of its own", Denies("NA-PCR-1"),
		created(own, named(Get(api.PodCertificateRequests).Sub("status"))),
		"nodes may not access the status subresource of PodCertificateRequests"),

	Entry("gets one of its own", Allows("NA-PCR-2"), created(own, named(Get(api.PodCertificateRequests)))),
	Entry("does not get one of another node", Denies("NA-PCR-2"),
		created(other, named(Get(api.PodCertificateRequests))), unrelated),

	Entry("lists its own", Allows("NA-PCR-3"), requestsOf(own, List(api.PodCertificateRequests))),
	Entry("does not list another node's", Denies("NA-PCR-3"),
		requestsOf(other, List(api.PodCertificateRequests)), onlySelectedRequests),
	Entry("does not list all", Denies("NA-PCR-3"), plainly(List(api.PodCertificateRequests)), onlySelectedRequests),
	Entry("watches its own", Allows("NA-PCR-3"), requestsOf(own, Watch(api.PodCertificateRequests))),
	Entry("does not watch all", Denies("NA-PCR-3"), plainly(Watch(api.PodCertificateRequests)), onlySelectedRequests),
)
