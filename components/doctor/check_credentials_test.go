// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

func TestAuthorities(t *testing.T) {
	published := func(config, key string, left time.Duration) func(*testCluster) {
		return func(c *testCluster) {
			pair := testpki.NewCA(t, "kubernetes").Issue(t, subject0, 0, lasts(c.now.Add(left)))
			c.configs[config][key] = string(pair.Certificate)
		}
	}
	testRows(t, []row{
		{"client CA ends in 89 days", published("extension-apiserver-authentication", "client-ca-file", 89*day),
			[]string{"soon|authorities||the CA of client certificates ends at"}},
		{"client CA ends in 91 days", published("extension-apiserver-authentication", "client-ca-file", 91*day), nil},
		{"server CA ends in 13 days", published("kube-root-ca.crt", "ca.crt", 13*day),
			[]string{"urgent|authorities||the CA of API servers ends at"}},
		{"the successor is there", func(c *testCluster) {
			long := c.configs["kube-root-ca.crt"]["ca.crt"]
			published("kube-root-ca.crt", "ca.crt", 13*day)(c)
			c.configs["kube-root-ca.crt"]["ca.crt"] += long
		}, nil},
		{"no CA", func(c *testCluster) { delete(c.configs, "kube-root-ca.crt") },
			[]string{"soon|authorities|authorities|not checked: the CA of API servers is not published"}},
		{"Bulkhead's CA ends in 80 days", func(c *testCluster) { c.certificates["cp2"][1].NotAfter = c.now.Add(80 * day) },
			[]string{"soon|authorities|cp2|Bulkhead's CA ends at"}},
	})
}

func TestRevocations(t *testing.T) {
	revoked := func(key string, text func(*testpki.CA) string) func(*testCluster) {
		return func(c *testCluster) {
			ca := testpki.NewCA(t, "kubernetes")
			c.configs["extension-apiserver-authentication"]["client-ca-file"] += string(ca.PEM())
			c.configs["bulkhead-revocations"] = map[string]string{key: text(ca)}
		}
	}
	ids := func(text string) func(*testpki.CA) string { return func(*testpki.CA) string { return text } }
	list := func(valid time.Duration) func(*testpki.CA) string {
		return func(ca *testpki.CA) string {
			return string(testpki.CRLPEM(ca.CRL(t, nil, func(l *x509.RevocationList) {
				l.ThisUpdate = time.Now().Add(-2 * time.Hour)
				l.NextUpdate = l.ThisUpdate.Add(valid)
			})))
		}
	}
	good := "X509SHA256=" + strings.Repeat("a", 64) + "\n"
	testRows(t, []row{
		{"a line that is not an ID", revoked("credential-ids", ids(good+"serial 7\n")),
			[]string{"urgent|revocations||ConfigMap bulkhead-revocations has lines that revoke nothing: line 2"}},
		{"valid lines", revoked("credential-ids", ids(good)), nil},
		{"invalid list", revoked("a.crl", ids("not a list")),
			[]string{"urgent|revocations|a.crl|a certificate revocation list cannot"}},
		{"valid list", revoked("a.crl", list(3*time.Hour)), nil},
		{"list to be updated", revoked("a.crl", list(time.Hour)),
			[]string{"soon|revocations|a.crl|the revocation list of kubernetes"}},
	})
}
