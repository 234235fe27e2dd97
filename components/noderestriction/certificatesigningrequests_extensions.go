// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"crypto/x509"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeletcertificate"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	certificateServing = rules.Rule{
		ID: "NR-CSR-2",
		Description: "A node requests from kubernetes.io/kubelet-serving only its own server certificate. The " +
			"subject is O=system:nodes and its user name, nothing else. All names and addresses are in the status " +
			"of its Node. None is an address of another Node, a cluster IP, a name of a Service or of the " +
			"loopback, a wildcard, or a loopback, link-local, multicast or unspecified IP. Names and addresses of " +
			"the API server are only for a Node with the label node-role.kubernetes.io/control-plane.",
		Source: "Bulkhead: upstream leaves them to the approver; pkg/apis/certificates/helpers.go " +
			"ValidateKubeletServingCSR has what the signer signs, pkg/kubelet/certificate/kubelet.go what a kubelet asks for",
		Extension: true,
		Optional:  true,
	}
	certificateClient = rules.Rule{
		ID: "NR-CSR-3",
		Description: "A node requests from kubernetes.io/kube-apiserver-client-kubelet only its own client " +
			"certificate. The subject is O=system:nodes and its user name, nothing else. There are no other " +
			"names.",
		Source:    "Bulkhead: upstream leaves it to the approver; pkg/apis/certificates/helpers.go ValidateKubeletClientCSR",
		Extension: true,
		Optional:  true,
	}
	certificateSigners = rules.Rule{
		ID:          "NR-CSR-4",
		Description: "A node requests certificates only from the two signers of kubelet certificates.",
		Source:      "Bulkhead: a kubelet asks no other; upstream lets a node ask every signer for anything",
		Extension:   true,
		Optional:    true,
	}
)

func (r *Restriction) reviewOtherSigner(q *request, signer string) *rules.Decision {
	return r.optional(q, certificateSigners, func() *rules.Decision {
		return q.forbid(certificateSigners,
			fmt.Sprintf("node %q can only request certificates of the signers %s and %s, not of %q",
				q.node, certificatesv1.KubeletServingSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName, signer))
	})
}

// reviewKubeletCertificateExtensions allows only the requests that a kubelet makes. err says why
// the request cannot be parsed. Such a request gets here only with
// AllowInsecureKubeletCertificateSigningRequests.
func (r *Restriction) reviewKubeletCertificateExtensions(ctx context.Context, q *request,
	asked *certificatesv1.CertificateSigningRequestSpec, parsed *x509.CertificateRequest, err error) *rules.Decision {
	by, purpose := certificateClient, certificatesv1.UsageClientAuth
	if asked.SignerName == certificatesv1.KubeletServingSignerName {
		by, purpose = certificateServing, certificatesv1.UsageServerAuth
	}
	return r.optional(q, by, func() *rules.Decision {
		if err != nil {
			return q.forbid(by, fmt.Sprintf("unable to parse csr: %v", err))
		}
		if problem := kubeletcertificate.SubjectProblem(parsed, q.node); problem != "" {
			return q.forbid(by, problem)
		}
		if !kubeletcertificate.UsedFor(purpose, asked.Usages) {
			return q.forbid(by, fmt.Sprintf("usages must be digital signature, %s and, for an RSA key, key encipherment",
				purpose))
		}
		if by == certificateServing {
			return r.reviewServingNames(ctx, q, parsed)
		}
		if len(parsed.Extensions) > 0 {
			return q.forbid(by, "subjectAltNames and other extensions are not allowed")
		}
		return nil
	})
}

// reviewServingNames compares the request with the current Node. A kubelet requests a serving
// certificate after its Node has addresses, and retries after a denial.
func (r *Restriction) reviewServingNames(ctx context.Context, q *request,
	parsed *x509.CertificateRequest) *rules.Decision {
	if problem := kubeletcertificate.NamesProblem(parsed); problem != "" {
		return q.forbid(certificateServing, problem)
	}
	node, err := r.config.Cluster.Node(ctx, q.node)
	if err != nil && apierrors.IsNotFound(err) {
		return q.forbid(certificateServing,
			fmt.Sprintf("node %q is not registered yet, and can have a serving certificate once its addresses are in the "+
				"status of its Node", q.node))
	}
	if err != nil {
		return q.raw(certificateServing, err)
	}
	problem := kubeletcertificate.OthersProblem(parsed, q.node, node.Status.Addresses)
	if problem == "" {
		problem, err = kubeletcertificate.ConflictProblem(ctx, parsed, node, othersIn{r.config.Cluster})
	}
	switch {
	case err != nil:
		return q.raw(certificateServing, err)
	case problem != "":
		return q.forbid(certificateServing, problem)
	}
	return nil
}

// othersIn looks up in the [Cluster] which other Node has a name or an address.
type othersIn struct{ Cluster }

func (c othersIn) NodeWith(ctx context.Context, address, but string) (string, error) {
	switch _, err := c.Node(ctx, address); {
	case address == but, err != nil && apierrors.IsNotFound(err):
		return c.AddressOwner(ctx, address, but)
	case err != nil:
		return "", err
	}
	return address, nil
}

var certificateMetadata = rules.Rule{
	ID: "NR-CSR-6",
	Description: "A node's CertificateSigningRequest has no labels, annotations, finalizers and owners. So it is " +
		"small, and disappears when kube-controller-manager deletes it.",
	Source: "Bulkhead; staging/src/k8s.io/client-go/util/certificate/csr/csr.go RequestCertificateWithContext sets a " +
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

var certificateCap = rules.Rule{
	ID: "NR-CSR-5",
	Description: "If the configuration has caps.certificateSigningRequests, a node creates no " +
		"CertificateSigningRequest while it has that many for the same signer. " +
		"kubernetes.io/kube-apiserver-client-kubelet and kubernetes.io/kubelet-serving are counted separately, " +
		"and all other signers together.",
	Source: "Bulkhead: a hostile node must not fill the cluster's store, and serving certificates without an approver " +
		"must not keep a kubelet from its client certificate; " +
		"pkg/controller/certificates/cleaner/cleaner.go says how long requests stay",
	Extension: true,
	Optional:  true,
}

// Signers is a group of signers whose CertificateSigningRequests are counted together. The groups
// have separate counts, so requests for one signer of kubelet certificates never block requests for
// the other.
type Signers int

// The groups of signers that are counted separately.
const (
	ClientSigner Signers = iota
	ServingSigner
	OtherSigners
)

// SignersOf returns the group that counts the requests for a signer.
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

// String returns the signer's name. For OtherSigners it returns a description.
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

// reviewSigningCap is the last rule of this resource, because it counts every request that it does
// not deny. A dry run gets the same answer as the write, but is not counted.
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
