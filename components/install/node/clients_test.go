// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// readClients reads the client certificates again, as the kubelet does when the file changes.
func (n *testNode) readClients() {
	n.clients = x509.NewCertPool()
	data, err := os.ReadFile(n.clientCAFile())
	must(n.t, err)
	n.clients.AppendCertsFromPEM(data)
}

// knows verifies a client certificate as a kubelet does.
func (n *testNode) knows(client tls.Certificate) error {
	leaf, err := x509.ParseCertificate(client.Certificate[0])
	if err != nil {
		return err
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots: n.clients, CurrentTime: time.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

func (n *testNode) Accepts(ctx context.Context, client tls.Certificate) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if n.duringAccept != nil {
		return n.duringAccept()
	}
	if n.acceptsLate--; n.acceptsLate < 0 {
		n.readClients()
	}
	return n.knows(client)
}

// older changes an installed node to the state that an older version left. Its kubelet accepts
// every certificate that an authority has signed, and the key of that authority is on the disk.
func (n *testNode) older() {
	n.t.Helper()
	ca := pki.Pair{CertFile: n.layout.KubeletClientCA(), KeyFile: n.layout.FormerClientCAKey()}
	must(n.t, os.Remove(ca.CertFile))
	_, err := pki.EnsureCA(ca, "bulkhead-kubelet-client-ca", time.Now())
	must(n.t, err)
	rotator := n.layout.KubeletRotator(kubeletOptions.Certificates, time.Now)
	rotator.Leaves[0].Signer, rotator.Leaves[0].Trust = ca, ""
	_, err = rotator.Renew(true)
	must(n.t, err)
	n.start()
	must(n.t, n.knows(n.client()))
}

// client is the client certificate of the proxy.
func (n *testNode) client() tls.Certificate {
	n.t.Helper()
	pair := n.layout.KubeletRotator(zeroPolicy, time.Now).Leaves[0].Pair
	client, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile)
	must(n.t, err)
	return client
}

// keys returns the files of the node that contain a private key. The kubelet's own keys are not in
// the snapshot.
func (n *testNode) keys() []string {
	var found []string
	for name, content := range n.snapshot() {
		if strings.Contains(content, "PRIVATE KEY") {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// mustHaveOneKey checks that the node has only one private key. It belongs to a client certificate
// that the kubelet accepts and that cannot sign other certificates.
func (n *testNode) mustHaveOneKey() {
	n.t.Helper()
	client := n.layout.KubeletRotator(zeroPolicy, time.Now).Leaves[0].Pair
	if got := n.keys(); len(got) != 1 || got[0] != client.KeyFile {
		n.t.Errorf("private keys are in %v", got)
	}
	cert, err := pki.ParseCert(read(n.t, client.CertFile))
	must(n.t, err)
	if cert.Subject.String() != "CN=bulkhead:kubelet-auth-proxy" || len(cert.ExtKeyUsage) != 1 || cert.IsCA {
		n.t.Errorf("the proxy is %s, for %v, an authority: %v", cert.Subject, cert.ExtKeyUsage, cert.IsCA)
	}
	n.readClients()
	must(n.t, n.knows(n.client()))
}

// withoutClient returns the snapshot without the proxy's certificate and without the kubelet's copy
// of it.
func (n *testNode) withoutClient() map[string]string {
	client := n.layout.KubeletRotator(zeroPolicy, time.Now).Leaves[0].Pair
	all := n.snapshot()
	maps.DeleteFunc(all, func(name, _ string) bool {
		return slices.Contains([]string{
			client.CertFile, client.KeyFile, n.layout.KubeletClientCA(), n.layout.FormerClientCAKey(),
		}, name)
	})
	return all
}

// clientCAFile is the clientCAFile in the drop-in that the running kubelet has read. It is empty if
// there is none.
func (n *testNode) clientCAFile() string {
	_, after, _ := strings.Cut(n.dropIn, "clientCAFile: ")
	file, _, _ := strings.Cut(after, "\n")
	return file
}
