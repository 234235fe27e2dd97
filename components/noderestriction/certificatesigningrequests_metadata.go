// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var certificateMetadata = rules.Rule{
	ID: "NR-CSR-6",
	Description: "A node's CertificateSigningRequest has no labels, annotations, finalizers and owners, " +
		"so that it is small and goes when kube-controller-manager removes it.",
	Source: "ours; staging/src/k8s.io/client-go/util/certificate/csr/csr.go RequestCertificateWithContext sets a " +
		"name alone",
	Extension: true,
	Optional:  true,
}

func checkCertificateMetadata(q *request, meta *metav1.ObjectMeta) *rules.Decision {
	if len(meta.Labels)+len(meta.Annotations)+len(meta.Finalizers)+len(meta.OwnerReferences) == 0 {
		return nil
	}
	return q.forbid(certificateMetadata,
		fmt.Sprintf("node %q can only create CertificateSigningRequests without labels, annotations, finalizers and owners",
			q.node))
}
