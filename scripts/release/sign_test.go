// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func writePEM(t *testing.T, folder, name, kind string, der []byte, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return write(t, folder, name, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}

// newKey returns the paths of a new key pair: the private key in the two formats of openssl, and the
// public key.
func newKey(t *testing.T, folder string, curve elliptic.Curve) (sec1, pkcs8, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	sec1 = writePEM(t, folder, "sec1.pem", "EC PRIVATE KEY", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(key)
	pkcs8 = writePEM(t, folder, "pkcs8.pem", "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(key.Public())
	return sec1, pkcs8, writePEM(t, folder, "public.pem", "PUBLIC KEY", der, err)
}

func TestSignAndVerify(t *testing.T) {
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384()} {
		folder := t.TempDir()
		sec1, pkcs8, public := newKey(t, folder, curve)
		_, _, other := newKey(t, t.TempDir(), curve)
		file, changed := write(t, folder, "file", "text"), write(t, folder, "changed", "Text")
		first, second := filepath.Join(folder, "1.sig"), filepath.Join(folder, "2.sig")
		if err := signFile(sec1, file, first); err != nil {
			t.Fatal(err)
		}
		if err := signFile(pkcs8, file, second); err != nil {
			t.Fatal(err)
		}
		a, _ := os.ReadFile(first)
		if b, _ := os.ReadFile(second); !bytes.Equal(a, b) {
			t.Error("two signatures differ")
		}
		if err := verifyFile(public, file, first); err != nil {
			t.Error(err)
		}
		for name, err := range map[string]error{
			"changed file":      verifyFile(public, changed, first),
			"other key":         verifyFile(other, file, first),
			"no signature":      verifyFile(public, file, filepath.Join(folder, "missing")),
			"invalid signature": verifyFile(public, file, file),
			"empty signature":   verifyFile(public, file, write(t, folder, "empty", "")),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), "cannot verify ") {
				t.Errorf("%s: %v", name, err)
			}
		}
		openSSLVerifies(t, public, first, file, changed)
	}
}

// openSSLVerifies runs the command of docs/releases.md, where openssl is installed.
func openSSLVerifies(t *testing.T, public, signature, file, changed string) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Log("openssl is not installed: its command is not tested")
		return
	}
	for path, valid := range map[string]bool{file: true, changed: false} {
		printed, err := exec.Command("openssl", "dgst", "-sha256", "-verify", public, "-signature", signature,
			path).CombinedOutput()
		if (err == nil) != valid {
			t.Errorf("openssl, %s: %v\n%s", filepath.Base(path), err, printed)
		}
	}
}

func TestKeysThatCannotBeUsed(t *testing.T) {
	folder := t.TempDir()
	sec1, _, public := newKey(t, folder, elliptic.P256())
	edPublic, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(crypto.PrivateKey(ed))
	edKey := writePEM(t, folder, "ed.pem", "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(edPublic)
	edPub := writePEM(t, folder, "ed.pub", "PUBLIC KEY", der, err)
	encrypted := writePEM(t, folder, "encrypted.pem", "ENCRYPTED PRIVATE KEY", []byte("x"), nil)
	half := writePEM(t, folder, "half.pem", "EC PRIVATE KEY", der[:10], nil)
	for path, want := range map[string]string{
		filepath.Join(folder, "missing"): "no such file", write(t, folder, "empty.pem", ""): "no PEM block",
		public: "no PEM block", encrypted: "it is encrypted", half: "cannot read the private key", edKey: "ed25519",
	} {
		if _, err := readPrivateKey(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("private key %s: %v, want %q", filepath.Base(path), err, want)
		}
	}
	for path, want := range map[string]string{sec1: "no PEM block", edPub: "ed25519"} {
		if _, err := readPublicKey(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("public key %s: %v, want %q", filepath.Base(path), err, want)
		}
	}
	// openssl ecparam -genkey writes the parameters first.
	text, _ := os.ReadFile(sec1)
	parameters := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 0}})
	if _, err := readPrivateKey(write(t, folder, "parameters.pem", string(parameters)+string(text))); err != nil {
		t.Errorf("key behind its parameters: %v", err)
	}
}
