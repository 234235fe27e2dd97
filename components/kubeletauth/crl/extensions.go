// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
)

var (
	deltaIndicator    = asn1.ObjectIdentifier{2, 5, 29, 27}
	distributionPoint = asn1.ObjectIdentifier{2, 5, 29, 28}
	certificateIssuer = asn1.ObjectIdentifier{2, 5, 29, 29}
	authorityKey      = asn1.ObjectIdentifier{2, 5, 29, 35}
	crlNumber         = asn1.ObjectIdentifier{2, 5, 29, 20}
)

// indirect is issuingDistributionPoint of RFC 5280 section 5.2.5, as far as it is
// looked at.
type indirect struct {
	Name          asn1.RawValue  `asn1:"optional,tag:0"`
	OnlyUsers     bool           `asn1:"optional,tag:1"`
	OnlyCAs       bool           `asn1:"optional,tag:2"`
	OnlyReasons   asn1.BitString `asn1:"optional,tag:3"`
	Indirect      bool           `asn1:"optional,tag:4"`
	OnlyAttribute bool           `asn1:"optional,tag:5"`
}

// checkComplete refuses a CRL that does not speak of all certificates of its issuer
// and of no others, or says something that has to be understood and is not (RFC 5280
// section 5.2).
func checkComplete(crl *x509.RevocationList) error {
	for _, extension := range crl.Extensions {
		if err := checkExtension(extension); err != nil {
			return err
		}
	}
	for _, entry := range crl.RevokedCertificateEntries {
		for _, extension := range entry.Extensions {
			if extension.Id.Equal(certificateIssuer) {
				return errors.New("it is an indirect CRL: entries are about another issuer")
			}
			if extension.Critical {
				return fmt.Errorf("entry of serial number %x has the unknown critical extension %v", entry.SerialNumber,
					extension.Id)
			}
		}
	}
	return nil
}

func checkExtension(extension pkix.Extension) error {
	switch {
	case extension.Id.Equal(deltaIndicator):
		return errors.New("it is a delta CRL, want a complete one")
	case extension.Id.Equal(distributionPoint):
		var point indirect
		if _, err := asn1.Unmarshal(extension.Value, &point); err == nil && point.Indirect {
			return errors.New("it is an indirect CRL, want one of the issuer's own certificates")
		}
		return errors.New("it has an issuing distribution point, so it is about a part of the certificates; want a " +
			"complete CRL")
	case extension.Id.Equal(authorityKey), extension.Id.Equal(crlNumber):
		return nil
	case extension.Critical:
		return fmt.Errorf("it has the unknown critical extension %v", extension.Id)
	default:
		return nil
	}
}
