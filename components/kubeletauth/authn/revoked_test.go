// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

// A revoked ID is denied from the next request on, even if the credential is cached.
func TestRevokedCredentials(t *testing.T) {
	const tokenID = "JTI=11111111-2222-3333-4444-555555555555"
	list := filepath.Join(t.TempDir(), "credential-ids")
	w := newWorld(t, func(c *Config) { c.Revocation.IDs = list })
	w.api.extra = map[string]authenticationv1.ExtraValue{user.CredentialIDKey: {tokenID}}
	stolen, good := w.ca.Client(t, "c", nil), w.ca.Client(t, "c", nil)
	certificateID := revocationlist.IDOf(stolen)
	denied := func(id string) string { return "Unauthorized: credential " + id + " is revoked [KA-REVOKE-1]" }
	for _, row := range []struct {
		name, list                string
		stolen, good, token, both string
	}{
		{"no ID is revoked", "", "c", "c", "token-user", "c"},
		{"the certificate is revoked", certificateID, denied(certificateID), "c", "token-user", denied(certificateID)},
		{"the token is revoked", tokenID, "c", "c", denied(tokenID), "c"},
		{"both are revoked", certificateID + "\n" + tokenID, denied(certificateID), "c", denied(tokenID),
			denied(certificateID)},
		{"no ID is revoked any more", "# none", "c", "c", "token-user", "c"},
	} {
		t.Run(row.name, func(t *testing.T) {
			write(t, list, []byte(row.list))
			if err := w.ids.RunOnce(); err != nil {
				t.Fatal(err)
			}
			w.expect(t, testpki.Request(t, stolen), row.stolen)
			w.expect(t, testpki.Request(t, good), row.good)
			w.expect(t, bearer(t, kubeletToken), row.token)
			w.expect(t, bearer(t, kubeletToken, stolen), row.both)
		})
	}
}

// A revoked credential does not become an anonymous user.
func TestARevokedCredentialIsNotAnonymous(t *testing.T) {
	list := filepath.Join(t.TempDir(), "credential-ids")
	w := newWorld(t, func(c *Config) { c.Revocation.IDs, c.Anonymous = list, true })
	stolen := w.ca.Client(t, "c", nil)
	write(t, list, []byte(revocationlist.IDOf(stolen)))
	if err := w.ids.RunOnce(); err != nil {
		t.Fatal(err)
	}
	w.expect(t, testpki.Request(t, stolen),
		"Unauthorized: credential "+revocationlist.IDOf(stolen)+" is revoked [KA-REVOKE-1]")
	w.expect(t, testpki.Request(t), "system:anonymous")
}
