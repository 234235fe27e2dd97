// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// byBulkhead is the reason of an approval by Bulkhead.
	byBulkhead = "BulkheadApproved"
	// signTimeout bounds the time of approval and signing together.
	signTimeout = ControllerManager
)

// addressed gives the Env's own Node an address.
func addressed(ctx context.Context) {
	GinkgoHelper()
	own := suite.Env().Own
	suite.Env().Node(ctx, own)
	patch := must(json.Marshal(map[string]any{"status": corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: own}, {Type: corev1.NodeInternalIP, Address: suite.Env().Address()},
	}}}))
	_, err := suite.Client.CoreV1().Nodes().Patch(ctx, own, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	Expect(err).NotTo(HaveOccurred())
}

// asking is a request for a serving certificate of the Env's own node, as its kubelet makes it. A
// spec changes parts of it.
type asking struct {
	usage certificatesv1.KeyUsage
	*x509.CertificateRequest
}

func asKubeletsAsk() asking {
	own := suite.Env().Own
	template := fixtures.NodeSubject("system:node:" + own)
	template.DNSNames, template.IPAddresses = []string{own}, []net.IP{net.ParseIP(suite.Env().Address())}
	return asking{certificatesv1.UsageServerAuth, template}
}

// request creates the request as who. It returns its name and the private key.
func request(ctx context.Context, who *Identity, a asking) (name string, key []byte) {
	GinkgoHelper()
	asked, key, err := fixtures.SigningRequest(suite.Env().NewName("e2e-serving"),
		certificatesv1.KubeletServingSignerName, a.usage, a.CertificateRequest)
	Expect(err).NotTo(HaveOccurred())
	suite.Env().PutAs(ctx, who, asked)
	return asked.Name, key
}

// approval returns the reason of a request's approval, or an empty string if it is not approved.
func approval(ctx context.Context, name string) (string, error) {
	got, err := suite.Client.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading request %s: %w", name, err)
	}
	for _, c := range got.Status.Conditions {
		if c.Type == certificatesv1.CertificateApproved {
			return c.Reason, nil
		}
	}
	return "", nil
}

// issued waits for the certificate of a request.
func issued(ctx context.Context, name string) []byte {
	GinkgoHelper()
	var certificate []byte
	Eventually(ctx, func() ([]byte, error) {
		got, err := suite.Client.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			certificate = got.Status.Certificate
		}
		return certificate, err
	}).WithTimeout(signTimeout).WithPolling(100*time.Millisecond).ShouldNot(BeEmpty(), "%s is signed", name)
	return certificate
}

// expectLeft makes a request that the approver must not approve, and then one that it must approve.
// The approver handles requests in order, so it has seen the first one when the second one is
// approved.
func expectLeft(ctx context.Context, who *Identity, refused asking) {
	GinkgoHelper()
	left, _ := request(ctx, who, refused)
	good, _ := request(ctx, suite.AsNode(suite.Env().Own), asKubeletsAsk())
	Eventually(ctx, approval).WithArguments(good).WithTimeout(signTimeout).WithPolling(100 * time.Millisecond).Should(
		Equal(byBulkhead))
	Expect(approval(ctx, left)).To(BeEmpty())
}

func certificateOf(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("there is no certificate in: " + string(text))
	}
	return x509.ParseCertificate(block.Bytes)
}

// served returns the serving certificate at the kubelet port of a node. It returns an error unless
// the cluster's CA signed it for that address.
func served(ctx context.Context, node string) (*x509.Certificate, error) {
	port, err := suite.KubeletPort(ctx, node)
	if err != nil {
		return nil, err
	}
	conn, err := port.Dial(ctx, Anonymous())
	if err != nil {
		return nil, err
	}
	return conn.ConnectionState().PeerCertificates[0], conn.Close()
}

// namesIn returns all names and addresses in a certificate.
func namesIn(certificate *x509.Certificate) []string {
	all := append([]string(nil), certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		all = append(all, ip.String())
	}
	return all
}

// namesOf returns all names and addresses of a Node.
func namesOf(ctx context.Context, node string) []string {
	GinkgoHelper()
	var all []string
	for _, address := range must(suite.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})).Status.Addresses {
		all = append(all, address.Address)
	}
	return all
}
