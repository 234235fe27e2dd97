// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"crypto/x509"
	"encoding/asn1"
	"path/filepath"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

// TestRevokedCertificateWithOtherBytes: the same certificate and signature, written with other bytes, has
// an ID that is not on the list.
func TestRevokedCertificateWithOtherBytes(t *testing.T) {
	list := filepath.Join(t.TempDir(), "credential-ids")
	w := newWorld(t, func(c *Config) { c.Revocation.IDs = list })
	stolen := w.ca.Client(t, "c", nil)
	write(t, list, []byte(revocationlist.IDOf(stolen)))
	if err := w.ids.RunOnce(); err != nil {
		t.Fatal(err)
	}
	w.expect(t, testpki.Request(t, stolen),
		"Unauthorized: credential "+revocationlist.IDOf(stolen)+" is revoked [KA-REVOKE-1]")
	var outer asn1.RawValue
	if _, err := asn1.Unmarshal(stolen.Raw, &outer); err != nil {
		t.Fatal(err)
	}
	longer, err := asn1.Marshal(asn1.RawValue{Class: outer.Class, Tag: outer.Tag, IsCompound: true,
		Bytes: append(append([]byte{}, outer.Bytes...), asn1.NullBytes...)})
	if err != nil {
		t.Fatal(err)
	}
	copied, err := x509.ParseCertificate(longer)
	if err != nil {
		t.Fatalf("crypto/x509 refuses such a certificate now, so checkEncoding can go: %v", err)
	}
	w.expect(t, testpki.Request(t, copied),
		"Unauthorized: invalid client certificate: it is not encoded as RFC 5280 says [KA-AUTH-1]")
	w.expect(t, testpki.Request(t, w.ca.Client(t, "c", nil)), "c")
}
