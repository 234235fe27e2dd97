// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// signFile signs a file with an ECDSA key in PEM format. `openssl dgst -sha256 -verify` verifies
// the signature. The same key and file give the same signature (RFC 6979).
func signFile(keyPath, path, signaturePath string) error {
	key, err := readPrivateKey(keyPath)
	if err != nil {
		return err
	}
	digest, err := digestOf(path)
	if err != nil {
		return err
	}
	signature, err := key.Sign(nil, digest, crypto.SHA256)
	if err != nil {
		return fmt.Errorf("cannot sign %s: %w", path, err)
	}
	return os.WriteFile(signaturePath, signature, 0o644)
}

// verifyFile verifies the signature of a file with an ECDSA public key in PEM format.
func verifyFile(keyPath, path, signaturePath string) error {
	key, err := readPublicKey(keyPath)
	if err != nil {
		return err
	}
	digest, err := digestOf(path)
	if err != nil {
		return err
	}
	signature, err := os.ReadFile(signaturePath)
	if err != nil {
		return fmt.Errorf("cannot verify %s: %w; this release is not signed, or the file is missing", path, err)
	}
	if !ecdsa.VerifyASN1(key, digest, signature) {
		return fmt.Errorf("cannot verify %s: %s is not a signature of it by the key %s; do not use these files",
			path, signaturePath, keyPath)
	}
	return nil
}

func digestOf(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	digest := sha256.Sum256(content)
	return digest[:], err
}

// makeKey says how to make a key pair that these functions read.
const makeKey = "make an ECDSA key with: openssl ecparam -name prime256v1 -genkey -noout -out release.pem"

func readPrivateKey(path string) (*ecdsa.PrivateKey, error) {
	block, err := readPEM(path, "EC PRIVATE KEY", "PRIVATE KEY")
	if err != nil {
		return nil, fmt.Errorf("cannot read the private key %s: %w; %s", path, err, makeKey)
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("cannot read the private key %s: %w; %s", path, err, makeKey)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("cannot sign with the key %s: it is a %T; %s", path, parsed, makeKey)
	}
	return key, nil
}

func readPublicKey(path string) (*ecdsa.PublicKey, error) {
	block, err := readPEM(path, "PUBLIC KEY")
	if err != nil {
		return nil, fmt.Errorf("cannot read the public key %s: %w", path, err)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("cannot read the public key %s: %w", path, err)
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("cannot verify with the key %s: it is a %T, want an ECDSA key", path, parsed)
	}
	return key, nil
}

// readPEM returns the first block of one of the types. Before it there may be others, such as the
// parameters that openssl writes.
func readPEM(path string, types ...string) (*pem.Block, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, fmt.Errorf("it has no PEM block of type %q", types)
		}
		if block.Headers["Proc-Type"] != "" || block.Type == "ENCRYPTED PRIVATE KEY" {
			return nil, errors.New("it is encrypted; decrypt it first")
		}
		for _, wanted := range types {
			if block.Type == wanted {
				return block, nil
			}
		}
		text = rest
	}
}
