// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
)

const (
	// recheckTimeout bounds one time of asking.
	recheckTimeout = 30 * time.Second
	// recheckAgain is when to ask again after there was no answer.
	recheckAgain = 30 * time.Second
	// firstRecheck is the age at which a stream is first asked about again: what let it
	// begin may have been a cached answer.
	firstRecheck = 10 * time.Second
	// sharedAnswer is how old an answer may be that another stream had asked for. It bounds
	// the reviews for one user with thousands of streams.
	sharedAnswer = 5 * time.Second
)

// firstCheck is the age at which access to a stream is first asked about again.
func (l Limits) firstCheck() time.Duration { return min(firstRecheck, l.StreamRecheck) }

// maxAge bounds the age of the answers that confirm a stream.
func (l Limits) maxAge() time.Duration { return max(min(sharedAnswer, l.StreamRecheck/4), 1) }

// recheck asks again whether the caller may have this stream. If nobody can say,
// the stream goes on for one more StreamRecheck from when it was last confirmed.
func (s *stream) recheck(now time.Time) error {
	h := s.exchange.handler
	ctx, cancel := context.WithTimeout(s.ctx, recheckTimeout)
	defer cancel()
	err := h.stillAllowed(ctx, s)
	h.measures.rechecks.WithLabelValues(recheckOutcome(err)).Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.sure, s.check = now, now.Add(h.config.Limits.StreamRecheck)
		return nil
	case errors.Is(err, errUnsure) && now.Sub(s.sure) < 2*h.config.Limits.StreamRecheck:
		s.check = now.Add(min(recheckAgain, h.config.Limits.StreamRecheck))
		return nil
	}
	return err
}

func recheckOutcome(err error) string {
	switch {
	case err == nil:
		return "kept"
	case errors.Is(err, errUnsure):
		return "unsure"
	case errors.Is(err, errRevoked):
		return "unauthenticated"
	default:
		return "forbidden"
	}
}

// stillAllowed proves the caller anew, with what it showed when the stream began,
// and asks for the rights anew. Cached answers do not count, but for those of the last
// few seconds.
func (h *Handler) stillAllowed(ctx context.Context, s *stream) error {
	x := s.exchange
	ctx = reviewclient.WithMaxAge(ctx, h.config.Limits.maxAge())
	answer, _, err := h.config.Authenticator.Authenticate(credentials(ctx, s.req))
	if ctx.Err() != nil || err != nil && h.config.Unsure != nil && h.config.Unsure(err) {
		return errUnsure
	}
	if err != nil || answer == nil || answer.User == nil || !same(answer.User, x.user) {
		return errRevoked
	}
	for _, attempt := range x.mapping.Attempts {
		decision, err := h.config.Authorize(ctx, h.attributes(answer.User, attempt, x.line.Path))
		if err != nil {
			return errUnsure
		}
		if decision.Allowed {
			return nil
		}
	}
	return errAccess
}

func same(a, b user.Info) bool { return a.GetName() == b.GetName() && a.GetUID() == b.GetUID() }
