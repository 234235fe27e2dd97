// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"sync"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// shares counts the streams of each user by namespace. A namespace may have no more streams than
// are still free. So other namespaces always have some left, without another limit to configure:
// one namespace gets 1/2 of a user's streams, two get 1/3 each, and so on. It is safe for
// concurrent use.
type shares struct {
	limit int

	mu sync.Mutex
	// users has an entry only while the user has a stream.
	users map[string]*userShares
}

// userShares are the streams of one user.
type userShares struct {
	all        int
	namespaces map[string]int
}

// newShares returns shares for users with at most limit streams each.
func newShares(limit int) *shares { return &shares{limit: limit, users: map[string]*userShares{}} }

// take counts one more stream until release is called. within is true if the namespace had fewer
// streams than were free.
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
	return func() { s.release(user, namespace) }, within
}

func (s *shares) release(user, namespace string) {
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

// share enforces rule KA-LIMIT-2 for a stream that already has a place among the user's streams.
func (h *Handler) share(rc *requestContext) *response {
	if h.sharing == rules.Off {
		return nil
	}
	leave, within := h.shares.take(rc.user.GetName(), rc.mapping.Target.Namespace)
	place := rc.release
	rc.release = func() {
		leave()
		place()
	}
	switch {
	case within:
		return nil
	case h.sharing == rules.Audit:
		rc.addFinding(kubeletauth.RuleShare)
		return nil
	}
	return deny(http.StatusTooManyRequests, kubeletauth.RuleShare,
		"Too many requests: the namespace has its share of the user's streams")
}
