// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// question is what a caller asks: is the object related to the node?
type question struct {
	node            string
	kind            graph.Kind
	namespace, name string
	// uid is empty if the question is about any object of that name.
	uid string
}

// maxUID is longer than every UID that an API server creates. It limits the memory for one UID.
const maxUID = 128

// canExist returns false if no such node or object can exist, so that no read is needed. The API
// server would not accept the name, and a client would put the name into the URL path of a call.
// The check also limits the memory for held questions.
func (q question) canExist() bool {
	if len(q.uid) > maxUID {
		return false
	}
	for _, name := range []string{q.node, q.namespace, q.name} {
		if len(name) > validation.DNS1123SubdomainMaxLength || len(content.IsPathSegmentName(name)) > 0 {
			return false
		}
	}
	return true
}

// nodeItself is the kind for a question about the Node object. Node objects have no kind in the
// graph.
const nodeItself = graph.Kind(math.MaxUint8)

// negativeCache is a cache of questions for which a recent read returned nothing new. Callers do not ask
// about a relation that is in the view, so these are questions about unrelated objects. When the
// cache is full, the least recently used question is removed and will be read again.
type negativeCache struct {
	questions *cache.LRUExpireCache
	clock     clock.PassiveClock
	ttl       time.Duration
}

func newNegativeCache(limits Limits, clock clock.PassiveClock) negativeCache {
	return negativeCache{cache.NewLRUExpireCacheWithClock(limits.NegativeCacheSize, clock), clock, limits.NegativeCacheTTL}
}

func (h negativeCache) has(asked question) bool {
	_, ok := h.questions.Get(asked)
	return ok
}

// add keeps the question in the cache until Limits.NegativeCacheTTL after its read began.
func (h negativeCache) add(asked question, began time.Time) {
	if left := h.ttl - h.clock.Since(began); left > 0 {
		h.questions.Add(asked, nil, left)
	}
}
