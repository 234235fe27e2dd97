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

// question is what a caller wants to know: whether the object is related to the
// node.
type question struct {
	node            string
	kind            graph.Kind
	namespace, name string
	// uid is empty where any object of the name is meant.
	uid string
}

// maxUID is more than an API server gives, and bounds what is kept of one.
const maxUID = 128

// canExist is false if there can be no such node or object, so that there is
// nothing to read: the name is none that an API server would take, and a client
// would put it into the path of a call. It also bounds what is held.
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

// nodeItself is the kind of a question about the Node object, which is not in the
// graph.
const nodeItself = graph.Kind(math.MaxUint8)

// held has the questions that were answered with nothing new a moment ago. They
// are questions about what is not related: callers do not ask about what they
// find in the view. When it is full, the one that was asked the longest time ago
// makes room, and is read again.
type held struct {
	questions *cache.LRUExpireCache
	clock     clock.PassiveClock
	hold      time.Duration
}

func newHeld(limits Limits, clock clock.PassiveClock) held {
	return held{cache.NewLRUExpireCacheWithClock(limits.Held, clock), clock, limits.Hold}
}

func (h held) has(asked question) bool {
	_, ok := h.questions.Get(asked)
	return ok
}

// add holds the question from when its read began.
func (h held) add(asked question, began time.Time) {
	if left := h.hold - h.clock.Since(began); left > 0 {
		h.questions.Add(asked, nil, left)
	}
}
