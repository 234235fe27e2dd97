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

// signingRequest returns a request for a certificate of a node.
func signingRequest(name, node string) *certificatesv1.CertificateSigningRequest {
	GinkgoHelper()
	request, _, err := fixtures.CertificateSigningRequest(name, certificatesv1.KubeAPIServerClientKubeletSignerName,
		"system:node:"+node)
	must(request, err)
	return request
}

// signingRequestOf is a request that a node creates and that names that node as the subject.
func signingRequestOf(where place, question ask) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		request := signingRequest(e.NewName("csr"), where(e))
		e.PutAs(ctx, suite.AsNode(where(e)), request)
		return question("", request.Name)
	}
}

// forgedSigningRequest is a request that names the node and that another user has created.
func forgedSigningRequest(question ask) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		request := signingRequest(e.NewName("csr"), e.Own)
		e.Put(ctx, request)
		return question("", request.Name)
	}
}

var otherNodesRequest = signingRequestOf(other, named(Get(api.CertificateSigningRequests)))

const uniformRequests = "NA-UNI-CERTIFICATESIGNINGREQUESTS"

var _ = DescribeTable("a node and a certificate signing request", decide,
	Entry("gets its own", AllowsBy("NA-CSR-1", uniformRequests),
		signingRequestOf(own, named(Get(api.CertificateSigningRequests)))),
	Entry("does not get another node's", DeniesBeyond("NA-CSR-1", uniformRequests), otherNodesRequest),
	Entry("does not get a request of another user for its name", DeniesBeyond("NA-CSR-1", uniformRequests),
		forgedSigningRequest(named(Get(api.CertificateSigningRequests)))),
	Entry("lists its own by name", AllowsBy("NA-CSR-1", uniformRequests),
		signingRequestOf(own, selected(List(api.CertificateSigningRequests)))),
	Entry("does not list another node's by name", DeniesBeyond("NA-CSR-1", uniformRequests),
		signingRequestOf(other, selected(List(api.CertificateSigningRequests)))),
	Entry("does not list all", DeniesBeyond("NA-CSR-1", uniformRequests), plainly(List(api.CertificateSigningRequests))),
	Entry("watches its own by name", AllowsBy("NA-CSR-1", uniformRequests),
		signingRequestOf(own, selected(Watch(api.CertificateSigningRequests)))),
	Entry("does not watch another node's by name", DeniesBeyond("NA-CSR-1", uniformRequests),
		signingRequestOf(other, selected(Watch(api.CertificateSigningRequests)))),
	Entry("does not watch all", DeniesBeyond("NA-CSR-1", uniformRequests), plainly(Watch(api.CertificateSigningRequests))),
)
