// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var certificateCap = rules.Rule{
	ID: "NR-CSR-5",
	Description: "Where the configuration has caps.certificateSigningRequests, a node creates no " +
		"CertificateSigningRequest while there are that many of its own for the same signer. " +
		"kubernetes.io/kube-apiserver-client-kubelet and kubernetes.io/kubelet-serving are counted each by itself, all " +
		"other signers together.",
	Source: "Bulkhead: a hostile node must not fill the cluster's store, and serving certificates that nobody approves " +
		"must not keep a kubelet from its client certificate; " +
		"pkg/controller/certificates/cleaner/cleaner.go says how long requests stay",
	Extension: true,
	Optional:  true,
}

// Signers are whom a CertificateSigningRequest is for, as far as they are counted
// apart: a kubelet's requests for one are no reason to refuse it the other.
type Signers int

// What is counted apart.
const (
	ClientSigner Signers = iota
	ServingSigner
	OtherSigners
)

// SignersOf finds where the requests for a signer are counted.
func SignersOf(signerName string) Signers {
	switch signerName {
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		return ClientSigner
	case certificatesv1.KubeletServingSignerName:
		return ServingSigner
	default:
		return OtherSigners
	}
}

// String is as a person reads it.
func (s Signers) String() string {
	switch s {
	case ClientSigner:
		return certificatesv1.KubeAPIServerClientKubeletSignerName
	case ServingSigner:
		return certificatesv1.KubeletServingSignerName
	default:
		return "signers other than those of kubelets"
	}
}

// reviewSigningCap comes last for this resource: what it does not refuse is counted as
// made. A dry run makes none, but is told what the write would be told.
func (r *Restriction) reviewSigningCap(q *request, signerName string) *rules.Decision {
	most := q.caps().CertificateSigningRequests
	if most <= 0 {
		return nil
	}
	return r.optional(q, certificateCap, func() *rules.Decision {
		signers := SignersOf(signerName)
		if r.config.Cluster.SigningRequests(q.node, signers, most, !q.IsDryRun()) < most {
			return nil
		}
		return q.forbid(certificateCap,
			fmt.Sprintf("node %q has as many CertificateSigningRequests for %s as one node may have: %d", q.node, signers, most))
	})
}
