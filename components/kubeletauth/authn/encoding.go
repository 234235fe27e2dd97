// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

// checkEncoding denies a certificate that has more in it than its three parts. The signature covers only
// the first part, and crypto/x509 ignores what follows the third one. So the owner of the key could write
// a revoked certificate with other bytes, whose ID is not on the list (RFC 5280 section 4.1).
func checkEncoding(certificate *x509.Certificate) error {
	var parts struct {
		Signed, Algorithm asn1.RawValue
		Signature         asn1.BitString
	}
	_, err := asn1.Unmarshal(certificate.Raw, &parts)
	if err == nil && parts.Signature.BitLength%8 == 0 {
		var exact []byte
		if exact, err = asn1.Marshal(parts); err == nil && bytes.Equal(exact, certificate.Raw) {
			return nil
		}
	}
	return deny(kubeletauth.RuleAuthenticated, "invalid client certificate: it is not encoded as RFC 5280 says", err)
}
