// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"sync"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// shares counts the streams of each user by namespace. A namespace may have no more of
// them than are free, so that it leaves some for others without a number that an operator
// would have to choose: one namespace gets 1/2 of a user's streams, two get 1/3 each, and
// so on. It is safe for concurrent use.
type shares struct {
	limit int

	mu sync.Mutex
	// users has an entry only while one of that user's streams goes on.
	users map[string]*userShares
}

// userShares are the streams of one user.
type userShares struct {
	all        int
	namespaces map[string]int
}

// newShares makes shares of as many streams for each user.
func newShares(limit int) *shares { return &shares{limit: limit, users: map[string]*userShares{}} }

// take counts one more stream of a user in a namespace, which has to be given back. within
// is true if the namespace had fewer than were free.
func (s *shares) take(user, namespace string) (release func(), within bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[user]
	if u == nil {
		u = &userShares{namespaces: map[string]int{}}
		s.users[user] = u
	}
	within = u.namespaces[namespace] < s.limit-u.all
	u.all++
	u.namespaces[namespace]++
	return func() { s.give(user, namespace) }, within
}

func (s *shares) give(user, namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[user]
	u.all--
	if u.namespaces[namespace]--; u.namespaces[namespace] == 0 {
		delete(u.namespaces, namespace)
	}
	if u.all == 0 {
		delete(s.users, user)
	}
}

// share is rule KA-LIMIT-2, for a stream that has a place among those of its user.
func (h *Handler) share(x *exchange) *reply {
	if h.sharing == rules.Off {
		return nil
	}
	give, within := h.shares.take(x.user.GetName(), x.mapping.Target.Namespace)
	place := x.release
	x.release = func() {
		give()
		place()
	}
	switch {
	case within:
		return nil
	case h.sharing == rules.Audit:
		x.found(kubeletauth.RuleShare)
		return nil
	}
	return deny(http.StatusTooManyRequests, kubeletauth.RuleShare,
		"Too many requests: the streams of this namespace have their share of those of the user")
}
