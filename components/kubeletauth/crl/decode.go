// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// maxEntries bounds the revoked certificates of one file.
const maxEntries = 250_000

// content is what a file holds, unverified.
type content struct {
	crls []*x509.RevocationList
	cas  []*x509.Certificate
}

// decode reads PEM, or else one CRL in DER. It is safe with any input.
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
