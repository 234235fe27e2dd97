// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	foreignToken = "Unauthorized: the token is for the API server, not for kubelets [KA-AUD-1]"
	clientLimit  = "Too many requests: too many tokens from this address are new or not good [KA-LIMIT-1]"
	allLimit     = "Too many requests: too many tokens are new or not good [KA-LIMIT-1]"
)

// onlyTokens has no client CA, because the CA's work queue would outlive a synctest bubble.
func onlyTokens(t *testing.T, tweak ...func(*Config)) *world {
	t.Helper()
	return newWorld(t, append([]func(*Config){func(c *Config) { c.ClientCAFile, c.Revocation.CRL = "", nil }},
		tweak...)...)
}

// A token needs one review, whatever its audience and the mode of the rule.
func TestAudiences(t *testing.T) {
	lying := jwt(`["bulkhead:kubelet"]`) + "x" // claims to be for kubelets
	for _, row := range []struct {
		name, token         string
		off, audit, enforce string
		found               int
		asked               []string
	}{
		{"for kubelets", kubeletToken, "token-user", "token-user", "token-user", 0, []string{DefaultAudience}},
		{"for both", bothToken, "token-user", "token-user", "token-user", 0, []string{DefaultAudience}},
		{"for the API server", apiToken, "token-user", "token-user", foreignToken, 1, nil},
		{"not a JSON web token", "opaque", "token-user", "token-user", foreignToken, 1, nil},
		{"without audiences", jwt(`[]`), badToken, badToken, badToken, 0, nil},
		{"for others", jwt(`"vault"`), badToken, badToken, badToken, 0, nil},
		{"that lies about being for kubelets", lying, badToken, badToken, badToken, 0, []string{DefaultAudience}},
	} {
		for mode, want := range map[rules.Mode]string{rules.Off: row.off, rules.Audit: row.audit,
			rules.Enforce: row.enforce} {
			t.Run(fmt.Sprint("a token ", row.name, ", ", mode), func(t *testing.T) {
				w := onlyTokens(t, func(c *Config) { c.AudienceMode = mode })
				w.api.tokens[lying] = []string{apiAudience}
				for range 2 {
					w.expect(t, bearer(t, row.token), want)
				}
				if len(w.api.asked) != 1 || !cmp.Equal(w.api.asked[0].Audiences, row.asked) {
					t.Errorf("asked %v, want once about %q", w.api.asked, row.asked)
				}
				found := 0
				if mode == rules.Audit {
					found = 2 * row.found
				}
				if len(w.findings) != found || found > 0 &&
					w.findings[0] != (rules.Finding{Rule: "KA-AUD-1", Message: strings.TrimSuffix(foreignToken, " [KA-AUD-1]")}) {
					t.Errorf("findings %v, want %d", w.findings, found)
				}
				if got, err := testutil.GetCounterMetricValue(w.metrics.audited); err != nil || int(got) != found {
					t.Errorf("%v counted, %v", got, err)
				}
			})
		}
	}
}

func TestWithoutAudiencesEveryTokenIsForTheAPIServer(t *testing.T) {
	w := onlyTokens(t, func(c *Config) { c.TokenAudiences, c.AudienceMode = nil, rules.Off })
	w.expect(t, bearer(t, apiToken), "token-user")
	w.expect(t, bearer(t, kubeletToken), badToken)
}

// An API server, or a webhook behind it, may answer without audiences. Such an answer does not mean
// that the token is valid for kubelets.
func TestAnAnswerWithoutAudiences(t *testing.T) {
	for _, row := range []struct {
		name      string
		audiences []string
		want      string
	}{
		{"API server's audience", []string{"x", DefaultAudience}, "token-user"},
		{"another", []string{"x"}, badToken},
		{"none", nil, badToken},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := onlyTokens(t)
			w.tokens.reviews = saying{w.api, row.audiences}
			w.expect(t, bearer(t, kubeletToken), row.want)
		})
	}
}

func TestTokenCacheTTLsFollowTheFlags(t *testing.T) {
	for _, row := range []struct {
		name, token, outcome string
		tweak                func(*Config)
		want                 time.Duration
	}{
		{"good, by default", apiToken, "token-user", func(*Config) {}, 2 * time.Minute},
		{"bad, by default", "bad", badToken, func(*Config) {}, 30 * time.Second},
		{"good", apiToken, "token-user", func(c *Config) { c.TokenTTL = time.Second }, time.Second},
		{"bad", "bad", badToken, func(c *Config) { c.TokenFailureTTL = time.Hour }, time.Hour},
		{"good, not at all", apiToken, "token-user", func(c *Config) { c.TokenTTL = 0 }, 0},
		{"bad, not at all", "bad", badToken, func(c *Config) { c.TokenFailureTTL = 0 }, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := onlyTokens(t, row.tweak)
				ask := func(reviews int) {
					t.Helper()
					w.expect(t, bearer(t, row.token), row.outcome)
					if got := w.api.reviews(); got != reviews {
						t.Errorf("%d reviews, want %d", got, reviews)
					}
				}
				ask(1)
				if row.want > 0 {
					time.Sleep(row.want - 1)
					ask(1)
					time.Sleep(time.Nanosecond)
				}
				ask(2)
			})
		})
	}
}

func TestFailedReviewIsUnauthorizedAndNotCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t)
		w.api.err = apierrors.NewServiceUnavailable("x")
		w.expect(t, bearer(t, apiToken), "Unauthorized: the TokenReview failed [KA-AUTH-1]")
		w.api.err = nil
		w.expect(t, bearer(t, apiToken), "token-user")
	})
}

func TestLongTokensAreNotReviewed(t *testing.T) {
	w := onlyTokens(t)
	const long = "Unauthorized: the token is longer than 16384 bytes [KA-LIMIT-1]"
	for _, row := range []struct {
		name    string
		request *http.Request
		want    string
		reviews int
	}{
		{"just short enough", bearer(t, strings.Repeat("x", 16<<10)), badToken, 1},
		{"too long", bearer(t, strings.Repeat("x", 16<<10+1)), long, 0},
		{"100 KB", bearer(t, strings.Repeat("x", 100<<10)), long, 0},
		{"100 KB in the sub-protocol",
			protocols(testpki.Request(t), "v5.channel.k8s.io", inProtocol(strings.Repeat("x", 100<<10))), long, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := w.api.reviews()
			w.expect(t, row.request, row.want)
			if got := w.api.reviews() - before; got != row.reviews {
				t.Errorf("%d reviews, want %d", got, row.reviews)
			}
		})
	}
}

func TestOneTokenIsReviewedOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t)
		w.api.before = func(context.Context) { time.Sleep(time.Second) }
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() { w.expect(t, bearer(t, kubeletToken), "token-user") })
		}
		callers.Wait()
		if got := w.api.reviews(); got != 1 {
			t.Errorf("%d reviews", got)
		}
	})
}

func TestReviewsInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t, func(c *Config) { c.MaxInFlight, c.MaxWaiting, c.ClientReviews.Burst = 1, 1, 10 })
		w.api.before = func(context.Context) { time.Sleep(time.Second) }
		got := make(chan string, 3)
		for i := range 3 {
			go func() { got <- w.outcome(t, bearer(t, fmt.Sprint(i))) }()
			synctest.Wait()
		}
		const busy = "Too many requests: too many tokens are being reviewed [KA-LIMIT-1]"
		if first := <-got; first != busy {
			t.Errorf("the last hears %q", first)
		}
		if second, third := <-got, <-got; second != badToken || third != badToken {
			t.Errorf("the others hear %q, %q", second, third)
		}
	})
}

// A revoked token is still valid from the cache, but not for a request that bounds the age of the
// answer.
func TestMaxAgeHasTheTokenReviewedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onlyTokens(t)
		w.expect(t, bearer(t, kubeletToken), "token-user")
		time.Sleep(time.Minute)
		delete(w.api.tokens, kubeletToken)
		w.expect(t, bearer(t, kubeletToken), "token-user")
		req := bearer(t, kubeletToken)
		w.expect(t, req.WithContext(reviewclient.WithMaxAge(req.Context(), time.Second)),
			"Unauthorized: invalid token [KA-AUTH-1]")
		w.expect(t, bearer(t, kubeletToken), "Unauthorized: invalid token [KA-AUTH-1]")
	})
}
