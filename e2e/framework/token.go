// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/keyutil"
)

// AccountToken requests a token of the service account of the Env's pods.
func (e *Env) AccountToken(ctx context.Context) Bearer {
	ginkgo.GinkgoHelper()
	account := e.Account(ctx)
	request, err := e.Client.CoreV1().ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	bearer, err := e.ReadToken(ctx, request.Status.Token)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return bearer
}

// ReissueToken changes the claims of a service account token, and signs it with the key of the
// cluster. The API server issues no such token: it decides the times itself.
func (s *Suite) ReissueToken(ctx context.Context, token string, change func(claims map[string]any)) string {
	ginkgo.GinkgoHelper()
	parts := strings.Split(token, ".")
	gomega.Expect(parts).To(gomega.HaveLen(3))
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	claims := map[string]any{}
	gomega.Expect(json.Unmarshal(payload, &claims)).To(gomega.Succeed())
	change(claims)
	payload, err = json.Marshal(claims)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	text := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.signToken(ctx, text))
}

// signToken returns an RS256 signature (RFC 7518 section 3.3), which kubeadm clusters use.
func (s *Suite) signToken(ctx context.Context, text string) []byte {
	ginkgo.GinkgoHelper()
	key, err := keyutil.ParsePrivateKeyPEM([]byte(s.OnControlPlane(ctx, "cat /etc/kubernetes/pki/sa.key")))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	private, ok := key.(*rsa.PrivateKey)
	gomega.Expect(ok).To(gomega.BeTrue(), "service accounts' tokens are signed with a %T", key)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum[:])
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return signature
}
