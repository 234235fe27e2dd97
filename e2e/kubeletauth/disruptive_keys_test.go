// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	"k8s.io/client-go/util/keyutil"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// keyPlaces are the directories where a kubelet, kubeadm and Bulkhead keep keys.
	keyPlaces = "/etc/kubernetes /var/lib/kubelet/pki"
	// keyReloadTimeout bounds the time until the proxy reads a new key pair.
	keyReloadTimeout = 15 * time.Second
)

var _ = Describe("the keys of a node's proxy", Serial, Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), func() {
	It("no private key of a certificate authority is on the worker's disk",
		Denies("KA-LOOPBACK-1"), func(ctx SpecContext) {
			keys, authorities := keysOf(ctx, suite.Worker)
			Expect(authorities).To(BeEmpty())
			Expect(keys).To(ContainElements("CN=bulkhead:kubelet-auth-proxy", ContainSubstring("CN=system:node:"+suite.Worker)))
		})

	It("the key of the cluster's authority is on the control plane's disk", Allows("KA-LOOPBACK-1"),
		func(ctx SpecContext) {
			_, authorities := keysOf(ctx, suite.ControlPlane)
			Expect(authorities).To(ContainElement("CN=kubernetes"))
			Expect(authorities).NotTo(ContainElement(ContainSubstring("kubelet")))
		})

	It("the kubelet accepts the proxy's certificate", Allows("KA-LOOPBACK-1"), func(ctx SpecContext) {
		Expect(onWorker(ctx, kubeletStatus(proxysKey))).To(Equal("200"))
	})

	It("the kubelet rejects a certificate that the proxy's key has signed",
		Denies("KA-LOOPBACK-1"), func(ctx SpecContext) {
			proxy := authority{certificate: must(certificateOf([]byte(onWorker(ctx, "cat "+proxyPair+".crt")))),
				key: proxyKey(ctx)}
			forged := proxy.certify("bulkhead:kubelet-auth-proxy").Certificate
			key := must(x509.MarshalPKCS8PrivateKey(forged.PrivateKey))
			pair := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: forged.Certificate[0]}),
				pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
			file := "/run/" + suite.Env().NewName("e2e") + ".pem"
			DeferCleanup(func(ctx context.Context) { onWorker(ctx, "rm -f "+file) })
			onWorker(ctx, "umask 077; echo "+base64.StdEncoding.EncodeToString(pair)+" | base64 -d >"+file)
			Expect(onWorker(ctx, kubeletStatus("--cert "+file+" --key "+file))).To(Equal("401"))
		})

	It("the keys are renewed while a log is followed and a command runs, and no exec fails", Allows("KA-LOOPBACK-1"),
		Allows("KA-CLOG-1"), Allows("KA-EXEC-1"), func(ctx SpecContext) {
			streams := startStreams(ctx)
			proxy, kubelet := onWorker(ctx, proxyProcess), onWorker(ctx, kubeletProcess)
			before := onWorker(ctx, "cat "+proxyPair+".crt")
			renewed := make(chan error, 1)
			since := time.Now()
			go func() {
				_, err := suite.Host.Run(ctx, suite.Worker, "bulkhead node renew --all")
				renewed <- err
			}()
			asked := 0
			var until time.Time
			for until.IsZero() || time.Now().Before(until) {
				select {
				case err := <-renewed:
					Expect(err).NotTo(HaveOccurred())
					Measured("bulkhead node renew --all", time.Since(since).Round(100*time.Millisecond).String())
					until = time.Now().Add(keyReloadTimeout)
				default:
				}
				ended := command{}.run(ctx, in(streams.pod, "exec", shell, "--", "true")...)
				Expect(ended).To(gexec.Exit(0), stderrOf(ended))
				asked++
			}
			Measured("kubectl exec while the proxy's certificate is renewed", fmt.Sprintf("%d, none failed", asked))
			streams.expectData(ctx)
			Expect(onWorker(ctx, "cat "+proxyPair+".crt")).NotTo(Equal(before))
			Expect(onWorker(ctx, kubeletStatus(proxysKey))).To(Equal("200"))
			Expect(onWorker(ctx, proxyProcess)).To(Equal(proxy), "the proxy kept running")
			Expect(onWorker(ctx, kubeletProcess)).To(Equal(kubelet), "the kubelet kept running")
			_, authorities := keysOf(ctx, suite.Worker)
			Expect(authorities).To(BeEmpty())
		})
})

// kubeletStatus returns a script that prints the status of a request to the kubelet's loopback
// port.
func kubeletStatus(with string) string {
	return "curl -sk -o /dev/null --max-time 20 -w '%{http_code}' " + with + " https://127.0.0.1:10250/pods"
}

func proxyKey(ctx context.Context) crypto.Signer {
	GinkgoHelper()
	signer, ok := must(keyutil.ParsePrivateKeyPEM([]byte(onWorker(ctx, "cat "+proxyPair+".key")))).(crypto.Signer)
	Expect(ok).To(BeTrue())
	return signer
}

// keysOf returns the names in the certificates whose private keys are on the disk of a node.
// authorities are the CA certificates among them. A key without a certificate is named by its
// number.
func keysOf(ctx context.Context, node string) (all, authorities []string) {
	GinkgoHelper()
	blocks := must(suite.Host.Run(ctx, node, "find "+keyPlaces+" -type f -exec grep -l -e '-----BEGIN' {} + | xargs cat"))
	var certificates []*x509.Certificate
	var keys []crypto.Signer
	for rest := []byte(blocks); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		switch block.Type {
		case "CERTIFICATE":
			certificates = append(certificates, must(x509.ParseCertificate(block.Bytes)))
		case "PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY":
			key, ok := must(keyutil.ParsePrivateKeyPEM(pem.EncodeToMemory(block))).(crypto.Signer)
			Expect(ok).To(BeTrue())
			keys = append(keys, key)
		}
	}
	for i, key := range keys {
		name := fmt.Sprintf("key %d", i)
		for _, certificate := range certificates {
			public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
			if !ok || !public.Equal(certificate.PublicKey) {
				continue
			}
			name = certificate.Subject.String()
			if certificate.IsCA {
				authorities = append(authorities, name)
			}
		}
		all = append(all, name)
	}
	return all, authorities
}
