// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// pair is a certificate and its key.
type pair struct {
	Path        string
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// PEM returns the pair in PEM encoding.
func (p pair) PEM() (certificate, key []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the key of %s: %w", p.Path, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate.Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// isClient reports whether a server could accept the certificate as a client certificate.
func (p pair) isClient() bool {
	return len(p.Certificate.ExtKeyUsage) == 0 ||
		slices.ContainsFunc(p.Certificate.ExtKeyUsage, func(usage x509.ExtKeyUsage) bool {
			return usage == x509.ExtKeyUsageClientAuth || usage == x509.ExtKeyUsageAny
		})
}

// readPairs returns all certificates in the files whose keys are in the files, each once.
func readPairs(files []file) []pair {
	var (
		keys  []crypto.Signer
		certs []pair
	)
	for _, f := range files {
		for _, text := range append([]string{f.Data}, embedded(f.Data)...) {
			for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
				if key := parseKey(block); key != nil {
					keys = append(keys, key)
				}
				if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
					certs = append(certs, pair{Path: f.Path, Certificate: certificate})
				}
			}
		}
	}
	var all []pair
	for _, c := range certs {
		if slices.ContainsFunc(all, func(p pair) bool { return p.Certificate.Equal(c.Certificate) }) {
			continue
		}
		for _, key := range keys {
			if public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); ok &&
				public.Equal(c.Certificate.PublicKey) {
				all = append(all, pair{Path: c.Path, Certificate: c.Certificate, Key: key})
				break
			}
		}
	}
	return all
}

func parseKey(block *pem.Block) crypto.Signer {
	if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		return nil
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		signer, _ := key.(crypto.Signer)
		return signer
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key
	}
	return nil
}

// embedded returns the data embedded in a kubeconfig. The search finds files that a kubeconfig
// names separately.
func embedded(text string) []string {
	if !strings.Contains(text, "kind: Config") {
		return nil
	}
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil
	}
	var all []string
	for _, user := range config.AuthInfos {
		all = append(all, string(user.ClientCertificateData)+"\n"+string(user.ClientKeyData))
	}
	return all
}

// newest keeps the newest certificate of each subject, issuer and use. The use matters because a
// kubelet's serving certificate has the same name as its client certificate, but is not a
// credential.
func newest(pairs []pair) (kept []pair, not []skipped) {
	whose := func(p pair) string {
		return fmt.Sprintf("%s by %s, %v", p.Certificate.Subject, p.Certificate.Issuer, p.isClient())
	}
	sorted := slices.Clone(pairs)
	slices.SortStableFunc(sorted, func(a, b pair) int { return b.Certificate.NotAfter.Compare(a.Certificate.NotAfter) })
	for _, p := range sorted {
		if slices.ContainsFunc(kept, func(k pair) bool { return whose(k) == whose(p) }) {
			not = append(not, skipped{What: p.Path, Why: "there is a newer certificate of the same subject", Count: 1})
			continue
		}
		kept = append(kept, p)
	}
	return kept, not
}

// forged returns an administrator's certificate that is signed by the given CA key.
func forged(authority pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("making a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
		NotBefore:    time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority.Certificate, key.Public(), authority.Key)
	if err != nil {
		return pair{}, fmt.Errorf("signing with %s: %w", authority.Path, err)
	}
	certificate, err := x509.ParseCertificate(der)
	return pair{Path: authority.Path, Certificate: certificate, Key: key}, err
}
