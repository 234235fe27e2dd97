// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestSigningRequestMetadata(t *testing.T) {
	with := func(edit func(*metav1.ObjectMeta)) admission.Attributes {
		a := signs(clientSigner, signed(t))
		if asked, ok := a.GetObject().(*certificatesv1.CertificateSigningRequest); ok {
			edit(&asked.ObjectMeta)
		}
		return a
	}
	const says = deniedSigning +
		`node "me" can only create CertificateSigningRequests without labels, annotations, finalizers and owners [NR-CSR-6]`
	labelled := with(func(m *metav1.ObjectMeta) { m.Labels = tenThousand() })
	run(t, restrict(aCluster(), enforce("NR-CSR-6")), []row{
		{name: "a name alone", write: with(func(*metav1.ObjectMeta) {})},
		{name: "labels", write: labelled, by: "NR-CSR-6", says: says},
		{name: "annotations", write: with(func(m *metav1.ObjectMeta) { m.Annotations = map[string]string{"a": "b"} }),
			by: "NR-CSR-6", says: says},
		{name: "finalizers", write: with(func(m *metav1.ObjectMeta) { m.Finalizers = []string{"a"} }), by: "NR-CSR-6",
			says: says},
		{name: "owners", write: with(func(m *metav1.ObjectMeta) { m.OwnerReferences = make([]metav1.OwnerReference, 1) }),
			by: "NR-CSR-6", says: says},
	})
	run(t, restrict(aCluster()), []row{{name: "off, anything", write: labelled}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, "NR-CSR-6")), labelled, "NR-CSR-6")
}
