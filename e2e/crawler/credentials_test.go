// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"
)

// issue makes a certificate and its key, signed by the parent or self-signed.
func issue(t *testing.T, name string, usage x509.ExtKeyUsage, ends time.Time, parent *pair) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(ends.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: ends,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	by := pair{Certificate: template, Key: key}
	if parent != nil {
		by = *parent
	} else {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage, template.ExtKeyUsage = true, true,
			x509.KeyUsageCertSign, nil
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.Certificate, key.Public(), by.Key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return pair{Certificate: certificate, Key: key}
}

func written(t *testing.T, p pair) (certificate, key string) {
	t.Helper()
	c, k, err := p.PEM()
	if err != nil {
		t.Fatal(err)
	}
	return string(c), string(k)
}

func TestReadPairs(t *testing.T) {
	soon, later := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	authority := issue(t, "authority", 0, later, nil)
	older, newer := issue(t, "system:node:n1", x509.ExtKeyUsageClientAuth, soon, &authority),
		issue(t, "system:node:n1", x509.ExtKeyUsageClientAuth, later, &authority)
	serving, keyless := issue(t, "system:node:n1", x509.ExtKeyUsageServerAuth, later.Add(time.Hour), &authority),
		issue(t, "keyless", x509.ExtKeyUsageClientAuth, later, &authority)
	inside := issue(t, "inside", x509.ExtKeyUsageClientAuth, later, &authority)
	var files []file
	for path, p := range map[string]pair{"older.pem": older, "newer.pem": newer, "copy.pem": newer,
		"serving.pem": serving} {
		certificate, key := written(t, p)
		files = append(files, file{path, certificate + key})
	}
	certificate, key := written(t, authority)
	files = append(files, file{"ca.crt", certificate}, file{"ca.key", key})
	certificate, _ = written(t, keyless)
	files = append(files, file{"keyless.crt", certificate})
	certificate, key = written(t, inside)
	files = append(files, file{"kubelet.conf",
		fmt.Sprintf("apiVersion: v1\nkind: Config\nusers:\n- name: x\n  user:\n    client-certificate-data: %s\n    "+
			"client-key-data: %s\n",
			base64.StdEncoding.EncodeToString([]byte(certificate)), base64.StdEncoding.EncodeToString([]byte(key)))})

	pairs := readPairs(files)
	if len(pairs) != 5 {
		t.Fatalf("%d pairs, not 5", len(pairs))
	}
	kept, not := newest(pairs)
	if len(kept) != 4 || len(not) != 1 || not[0].What != "older.pem" {
		t.Errorf("kept %d, not %+v", len(kept), not)
	}
	admin, err := forged(authority)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(authority.Certificate)
	if _, err := admin.Certificate.Verify(
		x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("what was forged is no good even there: %v", err)
	}
	if serving.isClient() || !newer.isClient() || !admin.isClient() {
		t.Error("servers and clients are mixed up")
	}
}

func bearing(claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"RS256"}`)) + "." + encode([]byte(claims)) + "." + encode([]byte("signature"))
}

func TestReadTokens(t *testing.T) {
	const whose = `"kubernetes.io":{"namespace":"ns","serviceaccount":{"name":"app","uid":"1"},` +
		`"pod":{"name":"p","uid":"2"}}`
	tokens, joining := readTokens([]file{
		{"token", bearing(`{"aud":["https://kubernetes.default.svc"],`+whose+`}`) + "\n"},
		{"vault", bearing(`{"aud":"vault",` + whose + `}`)},
		{"other", bearing(`{"iss":"somebody else"}`)},
		{"ca.crt", "-----BEGIN CERTIFICATE-----\n"},
		{"kubeadm.conf", "kind: JoinConfiguration\ndiscovery:\n  bootstrapToken:\n    token: " +
			"abcdef.0123456789abcdef\n---\nkind: X\ntlsBootstrapToken: \"abcdef.0123456789abcdef\"\n"},
		{"notes", "abcdef.0123456789abcdef"},
	})
	if len(tokens) != 2 || tokens[0].account() != "ns/app" || tokens[0].Kubernetes.Pod.UID != "2" ||
		tokens[1].Audiences[0] != "vault" {
		t.Errorf("tokens: %+v", tokens)
	}
	if len(joining) != 1 || joining[0].Value != "abcdef.0123456789abcdef" || joining[0].Path != "kubeadm.conf" {
		t.Errorf("tokens to join with: %+v", joining)
	}
}

func TestReadFiles(t *testing.T) {
	path := "/var/lib/kubelet/pods/1/volumes/kubernetes.io~projected/kube-api-access-x/..data/"
	files := readFiles(path + "./token " + base64.StdEncoding.EncodeToString([]byte("secret")) + "\nnonsense\n")
	if len(files) != 1 || files[0].Path != path+"token" || files[0].Data != "secret" {
		t.Errorf("files: %+v", files)
	}
	// The pattern is also an argument of grep -E in single quotes.
	if !regexp.MustCompilePOSIX(looksSecret).MatchString("-----BEGIN PRIVATE KEY-----") ||
		strings.Contains(looksSecret, "'") {
		t.Errorf("the pattern is no good: %s", looksSecret)
	}
}
