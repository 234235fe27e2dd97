// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

// authority signs the certificates of a test.
type authority struct{ *testpki.CA }

func newAuthority(t testing.TB) authority {
	t.Helper()
	return authority{testpki.NewCA(t, "test-ca")}
}

// issue returns a certificate, followed by its key.
func (a authority) issue(t testing.TB, subject pkix.Name, usage x509.ExtKeyUsage) []byte {
	t.Helper()
	return a.pair(t, subject, usage).Bundle()
}

func (a authority) pair(t testing.TB, subject pkix.Name, usage x509.ExtKeyUsage) testpki.KeyPair {
	t.Helper()
	return a.Issue(t, subject, usage, func(c *x509.Certificate) {
		c.IPAddresses = append(c.IPAddresses, net.IPv4(192, 0, 2, 1))
	})
}

func (a authority) client(t testing.TB, subject pkix.Name) *tls.Config {
	t.Helper()
	config := a.pair(t, subject, x509.ExtKeyUsageClientAuth).TLS(t, a.CA)
	config.ServerName = "192.0.2.1"
	return config
}

func place(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".tmp", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
	return path
}
