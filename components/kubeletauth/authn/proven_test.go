// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// flood uses up the limit of this address for TokenReviews.
func (w *world) flood(t *testing.T) {
	t.Helper()
	for i := range 200 {
		w.outcome(t, bearer(t, fmt.Sprint("bad", i, time.Now())))
	}
	w.expect(t, bearer(t, fmt.Sprint("bad", time.Now())), clientLimit)
}

// A token that was valid stays known as such while the API server does not answer. Other clients at
// the same address cannot delay its review.
func TestAProvenTokenOutlivesAFailingAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t)
		w.expect(t, bearer(t, kubeletToken), "token-user")
		time.Sleep(3 * time.Minute)
		w.api.err = apierrors.NewServiceUnavailable("x")
		w.expect(t, bearer(t, kubeletToken), "Unauthorized: the TokenReview failed [KA-AUTH-1]")
		w.api.err = nil
		w.flood(t)
		w.expect(t, bearer(t, apiToken), clientLimit)
		w.expect(t, bearer(t, kubeletToken), "token-user")
	})
}

// The token stays known even if its result is no longer cached.
func TestProvenTokenStaysKnownAfterCacheExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t, func(c *Config) { c.TokenTTL = 0 })
		w.expect(t, bearer(t, kubeletToken), "token-user")
		w.flood(t)
		w.expect(t, bearer(t, kubeletToken), "token-user")
		delete(w.api.tokens, kubeletToken)
		w.expect(t, bearer(t, kubeletToken), badToken)
		time.Sleep(time.Minute)
		w.flood(t)
		w.expect(t, bearer(t, kubeletToken), clientLimit)
	})
}

// Frequent reviews of one user's tokens do not delay the tokens of other users, however many tokens the
// user has.
func TestAUserWithProvenTokensHasALimitOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t, func(c *Config) { c.TokenTTL, c.ClientReviews.Burst = 0, 5 })
		w.api.users = map[string]string{apiToken: "another-user"}
		w.expect(t, bearer(t, kubeletToken), "token-user")
		w.expect(t, bearer(t, bothToken), "token-user")
		w.expect(t, bearer(t, apiToken), "another-user")
		for range 4 {
			w.expect(t, bearer(t, kubeletToken), "token-user")
		}
		w.expect(t, bearer(t, bothToken), "token-user")
		const tooMany = "Too many requests: tokens of this user are reviewed too often [KA-LIMIT-1]"
		w.expect(t, bearer(t, bothToken), tooMany)
		w.expect(t, bearer(t, kubeletToken), tooMany)
		w.expect(t, bearer(t, apiToken), "another-user")
		if got := w.api.reviews(); got != 9 {
			t.Errorf("%d reviews", got)
		}
	})
}

// Unknown tokens wait for a slow API server in a separate queue.
func TestAProvenTokenDoesNotWaitBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t, func(c *Config) { c.MaxInFlight, c.MaxWaiting, c.TokenTTL = 1, 1, 0 })
		w.expect(t, bearer(t, kubeletToken), "token-user")
		w.api.before = func(context.Context) { time.Sleep(time.Second) }
		for i := range 2 {
			go func() { w.outcome(t, bearer(t, fmt.Sprint(i))) }()
		}
		synctest.Wait()
		w.expect(t, bearer(t, "3"), "Too many requests: too many tokens are being reviewed [KA-LIMIT-1]")
		w.expect(t, bearer(t, kubeletToken), "token-user")
		time.Sleep(time.Minute)
		w.tokens.reviewer.Wait()
	})
}

// A flood of unknown tokens does not remove tokens that were valid from the cache.
func TestAFloodForgetsNoProvenToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t, func(c *Config) {
			c.ClientReviews, c.Options.Reviews = Rate{PerSecond: 1e6, Burst: 1e6}, Rate{PerSecond: 1e6, Burst: 1e6}
		})
		w.expect(t, bearer(t, kubeletToken), "token-user")
		for i := range cachedTokens + 1 {
			w.outcome(t, bearer(t, fmt.Sprint("bad", i)))
		}
		if _, proven := w.tokens.proven.Get(w.tokens.hash.of(kubeletToken)); !proven {
			t.Error("a token that was good is not known any more")
		}
		if entries, _ := w.tokens.proven.Size(); entries != 1 {
			t.Errorf("%d tokens are known to have been good", entries)
		}
	})
}
