// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletapprover

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"net"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeletcertificate"
)

// asked is the CSR of a kubelet on worker-1, with changes by template and spec.
func asked(t *testing.T, template func(*x509.CertificateRequest),
	spec func(*certificatesv1.CertificateSigningRequest)) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	want := &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "system:node:worker-1", Organization: []string{"system:nodes"}},
		DNSNames: []string{"worker-1"}, IPAddresses: []net.IP{net.ParseIP("10.0.0.1")},
	}
	if template != nil {
		template(want)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, want, key)
	if err != nil {
		t.Fatal(err)
	}
	request := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		SignerName: certificatesv1.KubeletServingSignerName,
		Username:   "system:node:worker-1", Groups: []string{"system:nodes", "system:authenticated"},
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
	}}
	if spec != nil {
		spec(request)
	}
	return request
}

func worker() *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "worker-1"},
		{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	return node
}

// also is the worker with one more address in its Node status.
func also(kind corev1.NodeAddressType, address string) *corev1.Node {
	node := worker()
	node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: kind, Address: address})
	return node
}

// cluster has a Node other, a Service and an API server.
type cluster struct{ err error }

func (c cluster) NodeWith(_ context.Context, address, _ string) (string, error) {
	return map[string]string{"10.0.0.2": "other", "other": "other"}[address], c.err
}

func (c cluster) ServiceWith(_ context.Context, ip string) (string, error) {
	return map[string]string{"10.96.0.1": "Service default/kubernetes"}[ip], c.err
}

func (c cluster) APIServer(context.Context) ([]string, error) {
	return []string{"10.0.0.6", "api.example"}, c.err
}

func withIP(ip string) func(*x509.CertificateRequest) {
	return func(r *x509.CertificateRequest) { r.IPAddresses = append(r.IPAddresses, net.ParseIP(ip)) }
}

func withName(name string) func(*x509.CertificateRequest) {
	return func(r *x509.CertificateRequest) { r.DNSNames = append(r.DNSNames, name) }
}

func TestProblem(t *testing.T) {
	type template = func(*x509.CertificateRequest)
	type spec = func(*certificatesv1.CertificateSigningRequest)
	for _, tc := range []struct {
		name     string
		template template
		spec     spec
		node     *corev1.Node
		mentions string
	}{
		{"a kubelet's own", nil, nil, worker(), ""},
		{"for an RSA key", nil, func(r *certificatesv1.CertificateSigningRequest) {
			r.Spec.Usages = append(r.Spec.Usages, certificatesv1.UsageKeyEncipherment)
		}, worker(), ""},
		{"by a node that does not exist", nil, nil, nil, "is not registered"},
		{"by a Node without addresses", nil, nil, &corev1.Node{}, "not a name in the status"},
		{"for another's address",
			func(r *x509.CertificateRequest) { r.IPAddresses = append(r.IPAddresses, net.ParseIP("10.0.0.2")) }, nil, worker(),
			"10.0.0.2 is not an address"},
		{"for another node's name", func(r *x509.CertificateRequest) { r.DNSNames = append(r.DNSNames, "other") }, nil,
			worker(), `"other" is not a name`},
		{"for another's name", func(r *x509.CertificateRequest) { r.DNSNames = append(r.DNSNames, "kubernetes.default") },
			nil, worker(), `"kubernetes.default" is not a node name`},
		{"for one more address of its own", withIP("10.0.0.3"), nil, also(corev1.NodeExternalIP, "10.0.0.3"), ""},
		{"for another node's address, which it reports", withIP("10.0.0.2"), nil, also(corev1.NodeExternalIP, "10.0.0.2"),
			`"10.0.0.2" is that of another node as well`},
		{"for another node's name, which it reports", withName("other"), nil, also(corev1.NodeInternalDNS, "other"),
			`"other" is that of another node as well`},
		{"for a cluster IP, which it reports", withIP("10.96.0.1"), nil, also(corev1.NodeExternalIP, "10.96.0.1"),
			"10.96.0.1 is the cluster IP of Service default/kubernetes"},
		{"for an endpoint of the API server, which it reports", withIP("10.0.0.6"), nil,
			also(corev1.NodeExternalIP, "10.0.0.6"), `"10.0.0.6" is the API server's`},
		{"for an endpoint of the API server, on a control plane", withIP("10.0.0.6"), nil,
			labelled(also(corev1.NodeExternalIP, "10.0.0.6")), ""},
		{"for a name of the API server, which it reports", withName("api.example"), nil,
			also(corev1.NodeExternalDNS, "api.example"), `"api.example" is the API server's`},
		{"for loopback, which it reports", withIP("127.0.0.1"), nil, also(corev1.NodeExternalIP, "127.0.0.1"),
			"127.0.0.1 is an address of no node"},
		{"for no name", func(r *x509.CertificateRequest) { r.DNSNames, r.IPAddresses = nil, nil }, nil, worker(),
			"subjectAltName is required"},
		{"with a mail address", func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@example.test"} }, nil,
			worker(), "subjectAltNames other than"},
		{"as another node", func(r *x509.CertificateRequest) { r.Subject.CommonName = "system:node:worker-2" }, nil, worker(),
			"common name is not system:node:worker-1"},
		{"in another group", func(r *x509.CertificateRequest) { r.Subject.Organization = []string{"system:masters"} }, nil,
			worker(), "organization is not"},
		{"to be a client", nil, func(r *certificatesv1.CertificateSigningRequest) {
			r.Spec.Usages = append(r.Spec.Usages, certificatesv1.UsageClientAuth)
		}, worker(), "usages must be"},
		{"request that is not valid", nil, func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Request = []byte("x") },
			worker(), "unable to parse"},
	} {
		request := asked(t, tc.template, tc.spec)
		name, waiting := Asking(request)
		if !waiting || name != "worker-1" {
			t.Errorf("%s: %q asks: %v", tc.name, name, waiting)
		}
		got, err := Problem(t.Context(), request, name, tc.node, cluster{})
		if err != nil || (got == "") != (tc.mentions == "") || !strings.Contains(got, tc.mentions) || got != "" &&
			!strings.HasSuffix(got, " [KA-CSR-1]") {
			t.Errorf("%s: %q, %v, want %q", tc.name, got, err, tc.mentions)
		}
	}
}

func labelled(node *corev1.Node) *corev1.Node {
	node.Labels = map[string]string{kubeletcertificate.ControlPlaneLabel: ""}
	return node
}

// If the others cannot be checked, Problem returns an error. A problem of the CSR itself is found
// without that check.
func TestProblemIsNotKnown(t *testing.T) {
	away := cluster{err: errors.New("timeout")}
	if got, err := Problem(t.Context(), asked(t, nil, nil), "worker-1", worker(), away); err == nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Problem(t.Context(), asked(t, withIP("127.0.0.1"), nil), "worker-1", worker(), away); err != nil ||
		got == "" {
		t.Errorf("loopback: %q, %v", got, err)
	}
}

func TestForeignSigningRequestsAreIgnored(t *testing.T) {
	for name, change := range map[string]func(*certificatesv1.CertificateSigningRequest){
		"another signer": func(r *certificatesv1.CertificateSigningRequest) {
			r.Spec.SignerName = certificatesv1.KubeAPIServerClientKubeletSignerName
		},
		"another user": func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Username = "alice" },
		"no user":      func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Username = "system:node:" },
		"not in the group": func(r *certificatesv1.CertificateSigningRequest) {
			r.Spec.Groups = []string{"system:authenticated"}
		},
		"approved already": func(r *certificatesv1.CertificateSigningRequest) {
			condition(r, certificatesv1.CertificateApproved)
		},
		"denied by someone": func(r *certificatesv1.CertificateSigningRequest) {
			condition(r, certificatesv1.CertificateDenied)
		},
	} {
		if node, waiting := Asking(asked(t, nil, change)); waiting {
			t.Errorf("%s: node %q", name, node)
		}
	}
}

func condition(r *certificatesv1.CertificateSigningRequest, c certificatesv1.RequestConditionType) {
	r.Status.Conditions = append(r.Status.Conditions,
		certificatesv1.CertificateSigningRequestCondition{Type: c, Status: corev1.ConditionTrue})
}
