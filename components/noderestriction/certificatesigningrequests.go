// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeletcertificate"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var certificateOwnName = rules.Rule{
	ID: "NR-CSR-1",
	Description: "Unless AllowInsecureKubeletCertificateSigningRequests is on, a node requests from the two " +
		"signers of kubelet certificates only a certificate whose common name is its own user name.",
	Source: "plugin/pkg/admission/noderestriction/admission.go admitCSR",
}

var certificateSigningRequestRules = []rules.Rule{
	certificateOwnName, certificateServing, certificateClient, certificateSigners, certificateCap, certificateMetadata,
}

// reviewCertificateSigningRequest decides before an approver sees the request. The API server has
// already verified the request's signature.
func (r *Restriction) reviewCertificateSigningRequest(ctx context.Context, q *request) *rules.Decision {
	if q.GetOperation() != admission.Create {
		return nil
	}
	asked, ok := typed[certificatesv1.CertificateSigningRequest](q.GetObject())
	if !ok {
		return q.unexpected(certificateOwnName, q.GetObject())
	}
	if refused := r.reviewSigner(ctx, q, &asked.Spec); refused != nil {
		return refused
	}
	if refused := r.optional(q, certificateMetadata,
		func() *rules.Decision { return checkCertificateMetadata(q, &asked.ObjectMeta) }); refused != nil {
		return refused
	}
	return r.reviewSigningCap(q, asked.Spec.SignerName)
}

func (r *Restriction) reviewSigner(ctx context.Context, q *request,
	asked *certificatesv1.CertificateSigningRequestSpec) *rules.Decision {
	switch asked.SignerName {
	case certificatesv1.KubeletServingSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName:
		return r.reviewKubeletCertificate(ctx, q, asked)
	default:
		return r.reviewOtherSigner(q, asked.SignerName)
	}
}

func (r *Restriction) reviewKubeletCertificate(ctx context.Context, q *request,
	asked *certificatesv1.CertificateSigningRequestSpec) *rules.Decision {
	parsed, err := kubeletcertificate.ParseRequest(asked.Request)
	if !r.config.Features.AllowInsecureKubeletCertificateSigningRequests {
		if err != nil {
			return q.forbid(certificateOwnName, fmt.Sprintf("unable to parse csr: %v", err))
		}
		if parsed.Subject.CommonName != nodeidentity.Prefix+q.node {
			return q.forbid(certificateOwnName, "can only create a node CSR with CN="+nodeidentity.Prefix+q.node)
		}
	}
	return r.reviewKubeletCertificateExtensions(ctx, q, asked, parsed, err)
}
