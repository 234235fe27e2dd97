// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash"
	"sync"

	"k8s.io/apiserver/pkg/authentication/authenticator"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
)

// tokenHash keeps tokens out of memory. It has a key of its own, so that nobody who
// reads the memory can try tokens out.
type tokenHash struct{ pool sync.Pool }

func newTokenHash() *tokenHash {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // does not fail
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

// sizeOf is about what an answer takes, in bytes.
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
