// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
)

// maxEntries bounds the revoked certificates in one file.
const maxEntries = 250_000

// content is the content of a file before verification.
type content struct {
	crls []*x509.RevocationList
	cas  []*x509.Certificate
}

// decode parses PEM, or one CRL in DER. It is safe with any input.
func decode(data []byte) (content, error) {
	var found content
	block, rest := pem.Decode(data)
	if block == nil {
		if bytes.Contains(data, []byte("-----BEGIN")) {
			return content{}, errors.New("the PEM does not end")
		}
		err := found.addCRL(data)
		return found, err
	}
	for ; block != nil; block, rest = pem.Decode(rest) {
		if err := found.add(block); err != nil {
			return content{}, err
		}
	}
	if bytes.Contains(rest, []byte("-----BEGIN")) {
		return content{}, errors.New("the last block of the PEM does not end")
	}
	return found, nil
}

func (c *content) add(block *pem.Block) error {
	switch block.Type {
	case "X509 CRL":
		return c.addCRL(block.Bytes)
	case "CERTIFICATE":
		ca, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return fmt.Errorf("parsing a CA certificate: %w", err)
		}
		c.cas = append(c.cas, ca)
		return nil
	default:
		return fmt.Errorf("the PEM has a block %.40q, want X509 CRL or CERTIFICATE", block.Type)
	}
}

func (c *content) addCRL(der []byte) error {
	crl, err := x509.ParseRevocationList(der)
	if err != nil {
		return fmt.Errorf("parsing a CRL: %w", err)
	}
	if len(crl.Raw) != len(der) {
		return fmt.Errorf("%d bytes follow a CRL", len(der)-len(crl.Raw))
	}
	c.crls = append(c.crls, crl)
	entries := 0
	for _, crl := range c.crls {
		entries += len(crl.RevokedCertificateEntries)
	}
	if entries > maxEntries {
		return fmt.Errorf("more than %d certificates are revoked", maxEntries)
	}
	return nil
}

var (
	deltaIndicator    = asn1.ObjectIdentifier{2, 5, 29, 27}
	distributionPoint = asn1.ObjectIdentifier{2, 5, 29, 28}
	certificateIssuer = asn1.ObjectIdentifier{2, 5, 29, 29}
	authorityKey      = asn1.ObjectIdentifier{2, 5, 29, 35}
	crlNumber         = asn1.ObjectIdentifier{2, 5, 29, 20}
)

// indirect is the part of issuingDistributionPoint (RFC 5280 section 5.2.5) that is read.
type indirect struct {
	Name          asn1.RawValue  `asn1:"optional,tag:0"`
	OnlyUsers     bool           `asn1:"optional,tag:1"`
	OnlyCAs       bool           `asn1:"optional,tag:2"`
	OnlyReasons   asn1.BitString `asn1:"optional,tag:3"`
	Indirect      bool           `asn1:"optional,tag:4"`
	OnlyAttribute bool           `asn1:"optional,tag:5"`
}

// checkComplete rejects a CRL that does not cover all certificates of its issuer, or that covers
// certificates of others. It also rejects a CRL with an unknown critical extension (RFC 5280
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
