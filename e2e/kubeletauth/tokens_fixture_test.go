// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// withLifetime returns the caller with a token that is signed with the cluster's own key. The token
// expires after the given time; a negative time means that it has expired. The API server issues no
// token for less than ten minutes.
func withLifetime(ctx context.Context, who Caller, ends time.Duration) Caller {
	GinkgoHelper()
	parts := strings.Split(who.Token, ".")
	Expect(parts).To(HaveLen(3))
	claims := map[string]any{}
	Expect(json.Unmarshal(must(base64.RawURLEncoding.DecodeString(parts[1])), &claims)).To(Succeed())
	now := time.Now()
	begins := now.Add(-2 * time.Hour).Unix()
	claims["iat"], claims["nbf"], claims["exp"] = begins, begins, now.Add(ends).Unix()
	text := parts[0] + "." + base64.RawURLEncoding.EncodeToString(must(json.Marshal(claims)))
	who.Token = text + "." + base64.RawURLEncoding.EncodeToString(signature(clusterKey(ctx, "sa.key"), text))
	return who
}

// signature returns an RS256 signature (RFC 7518 section 3.3), which kubeadm clusters use.
func signature(key crypto.Signer, text string) []byte {
	GinkgoHelper()
	private, ok := key.(*rsa.PrivateKey)
	Expect(ok).To(BeTrue(), "service accounts' tokens are signed with a %T", key)
	sum := sha256.Sum256([]byte(text))
	return must(rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum[:]))
}

// bySubprotocol returns a call that sends the token as a WebSocket subprotocol. Browsers do this,
// because they cannot set a header (k8s.io/apiserver/pkg/authentication/request/websocket).
func bySubprotocol(call Call, token string) Call {
	return call.Upgrading("base64url.bearer.authorization.k8s.io."+base64.RawURLEncoding.EncodeToString([]byte(token)),
		"v5.channel.k8s.io")
}
