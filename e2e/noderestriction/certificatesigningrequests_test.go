// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	serving = certificatesv1.KubeletServingSignerName
	client  = certificatesv1.KubeAPIServerClientKubeletSignerName
	onlyCN  = "can only create a node CSR with CN=system:node:"
)

// addressed gives the Env's own Node its name, an address and a kubelet port.
func addressed(ctx context.Context, e *Env) {
	GinkgoHelper()
	e.Node(ctx, e.Own)
	patchStatus(ctx, e.Own, fields{
		"addresses": []any{fields{"type": "Hostname", "address": e.Own},
			fields{"type": "InternalIP", "address": e.Address()}},
		"daemonEndpoints": fields{"kubeletEndpoint": fields{"Port": 10250}},
	})
}

// patchStatus patches the status of a Node as the administrator.
func patchStatus(ctx context.Context, node string, status fields) {
	GinkgoHelper()
	patch := must(json.Marshal(fields{"status": status}))
	_, err := suite.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	Expect(err).NotTo(HaveOccurred())
}

// newCSR requests a certificate of the Env's own node from a signer. The tweaks edit the
// request.
func newCSR(signer string, tweaks ...func(*Env, *x509.CertificateRequest)) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		usage := certificatesv1.UsageClientAuth
		if signer == serving {
			addressed(ctx, e)
			usage = certificatesv1.UsageServerAuth
		}
		template := fixtures.NodeSubject("system:node:" + e.Own)
		if signer == serving {
			template.DNSNames, template.IPAddresses = []string{e.Own}, []net.IP{net.ParseIP(e.Address())}
		}
		for _, tweak := range tweaks {
			tweak(e, template)
		}
		request, _, err := fixtures.SigningRequest(e.NewName("csr"), signer, usage, template)
		Expect(err).NotTo(HaveOccurred())
		return Create(api.CertificateSigningRequests).With(request)
	}
}

// requestWithFinalizer is a request with a finalizer.
func requestWithFinalizer(ctx context.Context, e *Env) Request {
	request, _, err := fixtures.CertificateSigningRequest(e.NewName("csr"), client, "system:node:"+e.Own)
	Expect(err).NotTo(HaveOccurred())
	request.Finalizers = []string{"bulkhead.dev/e2e"}
	return Create(api.CertificateSigningRequests).With(request)
}

// besideSlice requests a serving certificate while a user's EndpointSlice lists the node's address
// as an API server's. Only the slice that kube-apiserver writes counts.
func besideSlice(ctx context.Context, e *Env) Request {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: e.NewName("kubernetes"),
			Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{e.Address()}}},
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To[int32](6443)}},
	}
	e.Put(ctx, slice)
	return newCSR(serving)(ctx, e)
}

// ofAPIServer requests a serving certificate with the API server's address. The Env's own Node
// also reports that address in its status.
func ofAPIServer(ctx context.Context, e *Env) Request {
	slice, err := suite.Client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Get(ctx, "kubernetes",
		metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(slice.Endpoints).NotTo(BeEmpty())
	ip := slice.Endpoints[0].Addresses[0]
	request := newCSR(serving, func(_ *Env, r *x509.CertificateRequest) {
		r.IPAddresses = []net.IP{net.ParseIP(ip)}
	})(ctx, e)
	patchStatus(ctx, e.Own, fields{"addresses": []any{
		fields{"type": "Hostname", "address": e.Own}, fields{"type": "InternalIP", "address": ip},
	}})
	return request
}

func asOther(e *Env, r *x509.CertificateRequest) { r.Subject.CommonName = "system:node:" + e.Other }

// The API servers' addresses are those in the EndpointSlice that kube-apiserver writes.
var _ = DescribeTable("a serving certificate and the addresses of API servers", admitCertified,
	Entry("own address, which a user's EndpointSlice adds to default/kubernetes: allowed", Allows("NR-CSR-2"),
		besideSlice),
	Entry("address of an API server, which the Node reports: denied", DeniesBeyond("NR-CSR-2", Behind), ofAPIServer,
		"is the API server's"),
)

var _ = DescribeTable("a node that requests a certificate", admit,
	Entry("requests a serving certificate", Allows("NR-CSR-1"), newCSR(serving)),
	Entry("requests a client certificate", Allows("NR-CSR-1"), newCSR(client)),
	Entry("does not request a serving certificate of another node", Denies("NR-CSR-1"), newCSR(serving, asOther), onlyCN),
	Entry("does not request a client certificate of another node", Denies("NR-CSR-1"), newCSR(client, asOther), onlyCN),

	Entry("requests a serving certificate with its own names and addresses", Allows("NR-CSR-2"), newCSR(serving)),
	Entry("does not request a serving certificate with another name", DeniesBeyond("NR-CSR-2", Behind),
		newCSR(serving, func(e *Env, r *x509.CertificateRequest) {
			r.DNSNames = append(r.DNSNames, e.Other)
		})),
	Entry("does not request a serving certificate with another address", DeniesBeyond("NR-CSR-2", Behind),
		newCSR(serving, func(_ *Env, r *x509.CertificateRequest) {
			r.IPAddresses = append(r.IPAddresses, net.ParseIP("192.0.2.8"))
		})),
	Entry("does not request a client certificate with a subjectAltName", DeniesBeyond("NR-CSR-3", Behind),
		newCSR(client, func(e *Env, r *x509.CertificateRequest) {
			r.DNSNames = []string{e.Own}
		})),
	Entry("requests a client certificate without a subjectAltName", Allows("NR-CSR-3"), newCSR(client)),

	Entry("requests a certificate from a signer for kubelets", Allows("NR-CSR-4"), newCSR(client)),
	Entry("does not request a certificate from another signer", DeniesBeyond("NR-CSR-4", Behind),
		newCSR(certificatesv1.KubeAPIServerClientSignerName)),
	Entry("creates a request below the limit", Allows("NR-CSR-5"), newCSR(client)),
	Entry("creates a request without a finalizer", Allows("NR-CSR-6"), newCSR(client)),
	Entry("does not create a request with a finalizer", DeniesBeyond("NR-CSR-6", Behind), requestWithFinalizer,
		"without labels, annotations, finalizers"),
)
