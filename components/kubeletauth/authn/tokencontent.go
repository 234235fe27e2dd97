// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"hash"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/authentication/authenticator"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
)

// claimedAudiences returns the audiences that a JSON web token claims (RFC 7519 section 4.1.3). The
// signature is not verified. If the token is not a JSON web token, it returns none.
func claimedAudiences(token string) []string {
	_, rest, ok := strings.Cut(token, ".")
	if !ok {
		return nil
	}
	payload, signature, ok := strings.Cut(rest, ".")
	if !ok || strings.Contains(signature, ".") {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return nil
	}
	var claims struct {
		Audience json.RawMessage `json:"aud"`
	}
	if json.Unmarshal(data, &claims) != nil {
		return nil
	}
	var one string
	if json.Unmarshal(claims.Audience, &one) == nil && one != "" {
		return []string{one}
	}
	var several []string
	if json.Unmarshal(claims.Audience, &several) != nil {
		return nil
	}
	return several
}

// tokenHash hashes tokens, so that no cache contains a token. The hash has a secret random key, so
// that a reader of the hashes cannot test guesses.
type tokenHash struct{ pool sync.Pool }

func newTokenHash() *tokenHash {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return &tokenHash{pool: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

func (h *tokenHash) of(token string) (key reviewclient.Key) {
	mac, _ := h.pool.Get().(hash.Hash)
	defer h.pool.Put(mac)
	mac.Reset()
	mac.Write([]byte(token))
	mac.Sum(key[:0])
	return key
}

// sizeOf estimates the memory of an answer, in bytes.
func sizeOf(response *authenticator.Response) int {
	const text = 16
	who := response.User
	size := 4*text + len(who.GetName()) + len(who.GetUID())
	add := func(list []string) {
		for _, item := range list {
			size += text + len(item)
		}
	}
	add(response.Audiences)
	add(who.GetGroups())
	for key, values := range who.GetExtra() {
		size += 4*text + len(key)
		add(values)
	}
	return size
}
