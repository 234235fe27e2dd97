// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

// testCA signs the certificates of a test.
type testCA struct{ *testpki.CA }

func newTestCA(t *testing.T) testCA {
	t.Helper()
	return testCA{testpki.NewCA(t, "test-ca")}
}

func (ca testCA) issue(t *testing.T, name string, usage x509.ExtKeyUsage, end time.Time) testpki.KeyPair {
	t.Helper()
	return ca.Issue(t, pkix.Name{CommonName: name}, usage, func(c *x509.Certificate) { c.NotAfter = end })
}

func (ca testCA) serving(t *testing.T, name string) testpki.KeyPair {
	t.Helper()
	return ca.issue(t, name, x509.ExtKeyUsageServerAuth, time.Now().Add(time.Hour))
}

// client returns the configuration of a client with a certificate, or without one if pair is nil.
func (ca testCA) client(t *testing.T, pair *testpki.KeyPair) *tls.Config {
	t.Helper()
	config := &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12}
	if pair != nil {
		config = pair.TLS(t, ca.CA)
	}
	config.ServerName = "127.0.0.1"
	return config
}

const allowedName = "bulkhead:kube-apiserver"

// goodClient is the TLS configuration of the client that may connect.
func (ca testCA) goodClient(t *testing.T) *tls.Config {
	t.Helper()
	c := ca.issue(t, allowedName, x509.ExtKeyUsageClientAuth, time.Now().Add(time.Hour))
	return ca.client(t, &c)
}

func writeFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func filesFor(ca testCA, serving testpki.KeyPair) map[string][]byte {
	return map[string][]byte{"tls.crt": serving.Certificate, "tls.key": serving.Key, "ca.crt": ca.PEM()}
}
