// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	certificateSigningRequests = rules.Rule{
		ID: "NA-UNI-CERTIFICATESIGNINGREQUESTS",
		Description: "A node may create, get, list and watch certificate signing requests, but may never change, approve, " +
			"sign or delete one.",
		Source: uniformSource,
	}
	certificateSigningRequestOwn = rules.Rule{
		ID: "NA-CSR-1",
		Description: "A node may get, list and watch only its own certificate signing requests (spec.username is " +
			"the node's user name), one at a time and by name.",
		Source: "Bulkhead: upstream lets every node read all of them; pkg/kubelet/certificate and " +
			"client-go/util/certificate/csr watch one by name",
		Extension: true,
		Optional:  true,
	}
)

// authorizeCertificateSigningRequest returns NoOpinion for a certificate approver's check of its
// selfnodeclient subresource. The content of the CSR is not part of an authorization request, so
// the approver checks it.
func (z *Authorizer) authorizeCertificateSigningRequest(ctx context.Context, node string, a *request) rules.Decision {
	if isApproverQuestion(a.Subresource) {
		return authorizeApproverQuestion(a)
	}
	if a.Subresource != "" {
		return noRule(certificateSigningRequests, a)
	}
	switch a.Verb {
	case "create":
		return allow(certificateSigningRequests)
	case "get", "list", "watch":
		return z.authorizeCertificateSigningRequestRead(ctx, node, a)
	default:
		return noRule(certificateSigningRequests, a)
	}
}

// authorizeCertificateSigningRequestRead does a live read before it denies, because a kubelet
// starts to watch its CSR immediately after it has created it.
func (z *Authorizer) authorizeCertificateSigningRequestRead(ctx context.Context, node string,
	a *request) rules.Decision {
	if z.optional.certificateSigningRequests == rules.Off {
		return allow(certificateSigningRequests)
	}
	why := ""
	switch {
	case a.Name == "":
		return z.withoutOwn("can only read certificate signing requests by name")
	case z.ownsRequest(node, a):
		return allow(certificateSigningRequests)
	case z.refresher != nil:
		why = z.refresher.Refresh(ctx, node, graph.CertificateSigningRequest, a.Namespace, a.Name)
		if z.ownsRequest(node, a) {
			return allow(certificateSigningRequests)
		}
	}
	return z.withoutOwn(because("can only read certificate signing requests of its own", why))
}

func (z *Authorizer) ownsRequest(node string, a *request) bool {
	return z.relations.Relation(node, graph.CertificateSigningRequest, a.Namespace, a.Name).Related
}

// withoutOwn decides a read of a CSR that is not known to belong to the node.
func (z *Authorizer) withoutOwn(text string) rules.Decision {
	if z.optional.certificateSigningRequests == rules.Audit {
		return audit(certificateSigningRequests, certificateSigningRequestOwn)
	}
	return deny(certificateSigningRequestOwn, text)
}
