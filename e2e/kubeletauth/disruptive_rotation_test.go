// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"net"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// servingPair is the serving key pair of the kubelet and of its proxy. It is a link to a file
	// of the kubelet.
	servingPair = "/var/lib/kubelet/pki/kubelet-server-current.pem"
	// e2ePair is a key pair that the suite writes, not the kubelet.
	e2ePair = "/var/lib/kubelet/pki/e2e-kubelet-server.pem"
)

var _ = Describe("the serving certificate of a kubelet", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), func() {
		var (
			streams *kubectlStreams
			proxy   string
		)

		BeforeAll(func(ctx SpecContext) {
			DeferCleanup(func(ctx context.Context) {
				// A kubelet with a dangling link requests another certificate.
				onWorker(ctx, "rm -f "+e2ePair+"; test -e "+servingPair+" || { rm -f "+servingPair+"; systemctl restart kubelet; }")
				eventuallyOnWorker(ctx, kubeletRestartTimeout, "test -e "+servingPair+" && "+proxyReady)
			})
			streams = startStreams(ctx)
			proxy = onWorker(ctx, proxyProcess)
		})

		// The spec writes the pair as the kubelet does at a renewal, and the kubelet continues to
		// run. Unlike a real renewal, the kubelet itself continues to serve with the old pair.
		It("can be replaced on disk while a log is followed and a command runs", Allows("KA-CSR-1"), Allows("KA-CLOG-1"),
			Allows("KA-EXEC-1"), func(ctx SpecContext) {
				pair, serial := renewed(ctx)
				onWorker(ctx, "umask 077; echo "+base64.StdEncoding.EncodeToString(pair)+" | base64 -d >"+e2ePair+
					" && ln -s "+e2ePair+" "+servingPair+".new && mv -T "+servingPair+".new "+servingPair)
				Eventually(ctx, serialOf).WithTimeout(outputTimeout).WithPolling(time.Second).Should(Equal(serial),
					"the proxy serves with the new certificate")
				streams.expectData(ctx)
				Expect(kubectl(ctx, in(streams.pod, "exec", shell, "--", "echo", "new")...)).To(Equal("new\n"),
					"the kubelet serves with the old certificate")
				Expect(onWorker(ctx, proxyProcess)).To(Equal(proxy))
			})

		It("is requested again when the file is lost; Bulkhead approves it, and the proxy serves it without a restart",
			Allows("KA-CSR-1"), func(ctx SpecContext) {
				old, since := must(serialOf(ctx)), time.Now()
				onWorker(ctx, "rm -f "+servingPair+" "+e2ePair+" && systemctl restart kubelet")
				streams.expectCut(ctx, "a kubelet that starts without a serving certificate")
				Eventually(ctx, serialOf).WithTimeout(signTimeout).WithPolling(200*time.Millisecond).ShouldNot(Equal(old),
					"the proxy serves with another certificate")
				streams.expectRecovery(ctx, "the loss of the serving certificate", since)

				certificate := must(served(ctx, suite.Worker))
				Expect(namesIn(certificate)).To(ConsistOf(namesOf(ctx, suite.Worker)))
				Expect(approval(ctx, requestOf(ctx, certificate))).To(Equal(byBulkhead))
				Expect(onWorker(ctx, proxyProcess)).To(Equal(proxy))
				expectNodeReady(ctx)
			})
	})

// renewed returns another key pair for the worker's kubelet. The request is made as the kubelet,
// and Bulkhead approves it.
func renewed(ctx context.Context) (pair []byte, serial string) {
	GinkgoHelper()
	template := fixtures.NodeSubject("system:node:" + suite.Worker)
	for _, name := range namesOf(ctx, suite.Worker) {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if !slices.Contains(template.DNSNames, name) {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	name, key := request(ctx, must(suite.RealKubelet(ctx, suite.Worker)), asking{certificatesv1.UsageServerAuth, template})
	pem := issued(ctx, name)
	Expect(approval(ctx, name)).To(Equal(byBulkhead))
	return slices.Concat(pem, key), must(certificateOf(pem)).SerialNumber.String()
}

// serialOf returns the serial number of the serving certificate at the worker's port.
func serialOf(ctx context.Context) (string, error) {
	certificate, err := served(ctx, suite.Worker)
	if err != nil {
		return "", err
	}
	return certificate.SerialNumber.String(), nil
}

// requestOf returns the name of the request that led to a certificate of the worker.
func requestOf(ctx context.Context, certificate *x509.Certificate) string {
	GinkgoHelper()
	list := must(suite.Client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.signerName", certificatesv1.KubeletServingSignerName).String(),
	}))
	for i := range list.Items {
		of, err := certificateOf(list.Items[i].Status.Certificate)
		if err == nil && of.SerialNumber.Cmp(certificate.SerialNumber) == 0 &&
			list.Items[i].Spec.Username == "system:node:"+suite.Worker {
			return list.Items[i].Name
		}
	}
	Fail("no request of the worker's kubelet has serial number " + certificate.SerialNumber.String())
	return ""
}
