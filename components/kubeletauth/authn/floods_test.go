// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

// A flood of invalid tokens, each of them new, causes no more TokenReviews than the rate limit
// allows.
func TestAFloodFromOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t)
		heard := map[string]int{}
		const rounds = 60
		for i := range rounds * 100 {
			heard[w.outcome(t, bearer(t, fmt.Sprint("bad", i)))]++
			time.Sleep(10 * time.Millisecond)
		}
		most := 20 + 2*rounds
		if got := w.api.reviews(); got > most || got < most-2 || heard[badToken] != got ||
			heard[clientLimit] != rounds*100-got {
			t.Errorf("%d reviews, want %d; heard %v", got, most, heard)
		}
		w.outcome(t, bearer(t, "the last one"))
		w.expect(t, from(bearer(t, "another"), "192.0.2.2:1"), badToken)
		w.expect(t, from(bearer(t, "yet-another"), "192.0.2.1:9"), clientLimit)
		_, _, err := w.AuthenticateRequest(bearer(t, "x"))
		var refusal *Denied
		if !errors.As(err, &refusal) || refusal.Code != http.StatusTooManyRequests || refusal.RetryAfter <= 0 ||
			refusal.RetryAfter > 500*time.Millisecond {
			t.Errorf("refused with %+v", refusal)
		}
	})
}

func TestAFloodFromManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t)
		heard := map[string]int{}
		for i := range 6000 {
			remote := fmt.Sprintf("10.%d.%d.1:1", i/250, i%250)
			heard[w.outcome(t, from(bearer(t, fmt.Sprint("bad", i)), remote))]++
			time.Sleep(10 * time.Millisecond)
		}
		most := 100 + 20*60
		if got := w.api.reviews(); got > most || got < most-2 || heard[allLimit] != 6000-got {
			t.Errorf("%d reviews, want %d; heard %v", got, most, heard)
		}
		if got := len(w.tokens.limits.byClient); got > maxBuckets {
			t.Errorf("%d buckets", got)
		}
	})
}

// A flood from the same address does not affect a token that was valid: it is reviewed again when
// its cached result expires. A token that has become invalid loses this protection.
func TestFloodDoesNotBlockValidTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t)
		w.expect(t, bearer(t, kubeletToken), "token-user")
		w.expect(t, bearer(t, "opaque"), "token-user")
		flood := func() {
			for i := range 200 {
				w.outcome(t, bearer(t, fmt.Sprint("bad", i, time.Now())))
			}
		}
		for range 5 {
			time.Sleep(3 * time.Minute)
			flood()
			w.expect(t, bearer(t, kubeletToken), "token-user")
		}
		delete(w.api.tokens, "opaque")
		w.expect(t, bearer(t, "opaque"), badToken)
		time.Sleep(3 * time.Minute)
		flood()
		w.expect(t, bearer(t, "opaque"), clientLimit)
	})
}

func TestAttemptsAtAFailingServerAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t, func(c *Config) { c.ClientReviews = Rate{PerSecond: 0.001, Burst: 7} })
		w.api.err = apierrors.NewInternalError(errors.New("x"))
		for i := range 10 {
			w.outcome(t, bearer(t, fmt.Sprint(i)))
		}
		if got := w.api.reviews(); got != 7 {
			t.Errorf("%d reviews, want 7", got)
		}
	})
}

func TestRequestsThatGiveUpLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t)
		w.api.before = func(ctx context.Context) { <-ctx.Done() }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w.expect(t, bearer(t, apiToken).WithContext(ctx), "Unauthorized: the TokenReview failed [KA-AUTH-1]")
		synctest.Wait()
		w.tokens.reviewer.Wait()
	})
}

// With AuditOnly, a token over the limit is reviewed, as by a kubelet, and is a finding.
func TestAuditOnlyReviewsEveryToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t, func(c *Config) {
			c.AuditOnly, c.ClientReviews = true, Rate{PerSecond: 0.001, Burst: 1}
		})
		w.expect(t, bearer(t, "bad"), badToken)
		long := strings.Repeat("a", maxToken+1)
		w.expect(t, bearer(t, long), badToken)
		w.expect(t, bearer(t, kubeletToken), "token-user")
		if got := w.api.reviews(); got != 3 || len(w.findings) != 1 || w.findings[0].Rule != kubeletauth.RuleLimit {
			t.Errorf("%d reviews and findings %v, want 3 and one of KA-LIMIT-1", got, w.findings)
		}
	})
}
