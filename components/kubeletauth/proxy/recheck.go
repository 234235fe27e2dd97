// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
)

const (
	// recheckTimeout bounds one recheck.
	recheckTimeout = 30 * time.Second
	// recheckAgain is the wait after a recheck that got no answer.
	recheckAgain = 30 * time.Second
	// firstRecheck is the age of a stream at its first recheck. It is short, because a cached
	// answer may have allowed the stream.
	firstRecheck = 10 * time.Second
	// sharedAnswer bounds the age of an answer that another stream's recheck got. Streams share
	// answers, so a user with thousands of streams does not cause thousands of reviews.
	sharedAnswer = 5 * time.Second
)

// firstCheck is the age of a stream at its first recheck.
func (l Limits) firstCheck() time.Duration { return min(firstRecheck, l.StreamRecheck) }

// maxAge bounds the age of the answers that a recheck uses.
func (l Limits) maxAge() time.Duration { return max(min(sharedAnswer, l.StreamRecheck/4), 1) }

// recheck checks access again. If there is no answer, the stream may continue for up to two
// StreamRecheck intervals since access was last confirmed. With [Config].AuditOnly, only a
// revoked credential ends it.
func (s *stream) recheck(now time.Time) error {
	h := s.request.handler
	ctx, cancel := context.WithTimeout(s.ctx, recheckTimeout)
	defer cancel()
	err := h.stillAllowed(ctx, s)
	h.metrics.rechecks.WithLabelValues(recheckOutcome(err)).Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.sure, s.check = now, now.Add(h.config.Limits.StreamRecheck)
		return nil
	case errors.Is(err, errUnsure) && (h.config.AuditOnly || now.Sub(s.sure) < 2*h.config.Limits.StreamRecheck):
		s.check = now.Add(min(recheckAgain, h.config.Limits.StreamRecheck))
		return nil
	case h.config.AuditOnly && !errors.Is(err, errListed):
		// A kubelet asks once, when the stream begins.
		if !s.audited {
			s.audited = true
			s.request.countFinding(kubeletauth.RuleStream)
		}
		s.check = now.Add(h.config.Limits.StreamRecheck)
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
	case errors.Is(err, errRevoked), errors.Is(err, errListed):
		return "unauthenticated"
	default:
		return "forbidden"
	}
}

// stillAllowed authenticates the credentials of the stream again, and asks for the rights again. It
// uses only cached answers that are a few seconds old.
func (h *Handler) stillAllowed(ctx context.Context, s *stream) error {
	rc := s.request
	ctx = reviewclient.WithMaxAge(ctx, h.config.Limits.maxAge())
	answer, _, err := h.config.Authenticator.Authenticate(credentials(ctx, s.req))
	if ctx.Err() != nil || err != nil && h.config.Unsure != nil && h.config.Unsure(err) {
		return errUnsure
	}
	var denied *authn.Denied
	if errors.As(err, &denied) && (denied.Rule == kubeletauth.RuleCredential || denied.Rule == kubeletauth.RuleRevoked) {
		return errListed
	}
	if err != nil || answer == nil || answer.User == nil || !same(answer.User, rc.user) {
		return errRevoked
	}
	for _, attempt := range rc.mapping.Attempts {
		decision, err := h.config.Authorize(ctx, h.attributes(answer.User, attempt, rc.event.Path))
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
