// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"testing"

	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const asManySigning = deniedSigning + `node "me" has as many CertificateSigningRequests for `

// madeBy is a cluster in which the node me has made so many requests for a signer.
func madeBy(of Signers, n int) *fakeCluster {
	c := aCluster()
	c.signing = map[askedOf]int{{"me", of}: n}
	return c
}

func TestCertificateCap(t *testing.T) {
	five, enforced := configured(configuration.Configuration{Caps: configuration.Caps{CertificateSigningRequests: 5}}),
		enforce("NR-CSR-5")
	client, serving, other := signs(clientSigner, signed(t)), signs(servingSigner, signed(t)),
		signs("example.com/any", nil)
	another := signs("example.com/another", nil)
	for _, tt := range []struct {
		of    Signers
		full  []admission.Attributes
		free  []admission.Attributes
		named string
	}{
		{ClientSigner, []admission.Attributes{client}, []admission.Attributes{serving, other},
			"kubernetes.io/kube-apiserver-client-kubelet"},
		{ServingSigner, []admission.Attributes{serving}, []admission.Attributes{client, other},
			"kubernetes.io/kubelet-serving"},
		{OtherSigners, []admission.Attributes{other, another}, []admission.Attributes{client, serving},
			"signers other than those of kubelets"},
	} {
		says := asManySigning + tt.named + " as one node may have: 5 [NR-CSR-5]"
		for _, full := range tt.full {
			run(t, restrict(madeBy(tt.of, 4), five, enforced),
				[]row{{name: tt.named + ": the fifth of five is admitted", write: full}})
			run(t, restrict(madeBy(tt.of, 5), five, enforced),
				[]row{{name: tt.named + ": the sixth is refused", write: full, by: "NR-CSR-5", says: says}})
			run(t, restrict(madeBy(tt.of, 5), five), []row{{name: tt.named + ": off, it is admitted", write: full}})
			run(t, restrict(madeBy(tt.of, 5), enforced), []row{{name: tt.named + ": without a configuration too", write: full}})
			auditedOnly(t, restrict(madeBy(tt.of, 5), five, inMode(rules.Audit, "NR-CSR-5")), full, "NR-CSR-5")
		}
		for _, free := range tt.free {
			run(t, restrict(madeBy(tt.of, 5), five, enforced), []row{{name: tt.named + ": others are no matter", write: free}})
		}
	}
}

// What is admitted is told of, so that the next one is held to it before anybody has
// listed anything; what is refused, or made only for show, is not.
func TestWhatIsAdmittedIsCounted(t *testing.T) {
	two, enforced := configured(configuration.Configuration{Caps: configuration.Caps{CertificateSigningRequests: 2}}),
		enforce("NR-CSR-5", "NR-CSR-4", "NR-CSR-6")
	c := madeBy(ClientSigner, 0)
	r := restrict(c, two, enforced)
	client, other := signs(clientSigner, signed(t)), signs("example.com/any", nil)
	for range 3 {
		r.Review(t.Context(), dryRunOf(client))
		r.Review(t.Context(), other)
	}
	if n := c.signing[askedOf{"me", ClientSigner}] + c.signing[askedOf{"me", OtherSigners}]; n != 0 {
		t.Errorf("%d are counted of dry runs and refusals", n)
	}
	c.err = errors.New("nothing can be looked up")
	for i, admitted := range []bool{true, true, false, false} {
		if got := r.Review(t.Context(), client); got.Allowed() != admitted {
			t.Errorf("request %d: %+v", i+1, got)
		}
	}
}

// dryRunOf is the same write without effect.
func dryRunOf(a admission.Attributes) admission.Attributes {
	return admission.NewAttributesRecord(a.GetObject(), a.GetOldObject(), a.GetKind(), a.GetNamespace(), a.GetName(),
		a.GetResource(),
		a.GetSubresource(), a.GetOperation(), a.GetOperationOptions(), true, a.GetUserInfo())
}
