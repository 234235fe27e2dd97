// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	// maxToken bounds a token, in bytes. A service account token has about 1 KiB.
	maxToken = 16 << 10

	cachedTokens     = 4096
	cachedTokenBytes = 8 << 20

	// provenFor is how long a token is remembered as valid. It is longer than the lifetime of most
	// tokens.
	provenFor = 24 * time.Hour
)

// tokens authenticates requests by bearer token.
type tokens struct {
	reviews   authenticationv1client.TokenReviewInterface
	audiences []string
	mode      rules.Mode
	// auditOnly is [Config].AuditOnly.
	auditOnly bool
	hash      *tokenHash
	reviewer  *reviewclient.Client[reviewed]
	// limits is the rate limit for unknown tokens, by client address. All clients of one address
	// share it.
	limits *limiter[netip.Prefix]
	// proven contains the tokens that were valid at their last answered TokenReview, with the hash of
	// their user. Each user has a rate limit of its own, and the reviews have separate slots.
	proven       *reviewclient.Cache[reviewclient.Key]
	provenLimits *limiter[reviewclient.Key]
	metrics      *recorder
}

// reviewed is the API server's answer about a token.
type reviewed struct {
	// response is nil if the token is invalid.
	response *authenticator.Response
	// foreign means that the token is valid for the API server, and not for kubelets.
	foreign bool
	// complaint is the reason why the token is invalid.
	complaint string
}

func newTokens(config Config, m *recorder) *tokens {
	t := &tokens{
		reviews: config.Reviews, audiences: config.TokenAudiences,
		mode: config.AudienceMode, auditOnly: config.AuditOnly,
		hash: newTokenHash(), metrics: m,
		limits:       newLimiter[netip.Prefix](config.ClientReviews, config.Options.Reviews),
		proven:       reviewclient.NewCache[reviewclient.Key](cachedTokens, cachedTokenBytes),
		provenLimits: newLimiter[reviewclient.Key](config.ClientReviews, config.Options.Reviews),
	}
	t.limits.tooMany, t.limits.tooManyOfAll = "too many tokens from this address are new or not good",
		"too many tokens are new or not good"
	t.provenLimits.tooMany, t.provenLimits.tooManyOfAll = "tokens of this user are reviewed too often",
		"too many tokens are reviewed again"
	t.reviewer = reviewclient.New(reviewclient.Config[reviewed]{
		Name:    "token",
		Keep:    config.keep,
		Entries: cachedTokens, Bytes: cachedTokenBytes,
		InFlight: config.MaxInFlight, Waiting: config.MaxWaiting,
		Registry: config.Registry,
	})
	return t
}

func (o *Options) keep(v reviewed) (ttl time.Duration, bytes int) {
	if v.response == nil {
		return o.TokenFailureTTL, len(v.complaint)
	}
	return o.TokenTTL, sizeOf(v.response)
}

// tokenOfRequest authenticates the token of one request, and collects findings.
type tokenOfRequest struct {
	tokens *tokens
	// client is the address that the limits apply to.
	client   netip.Prefix
	findings []rules.Finding
	// over is true once a limit would have denied the token.
	over atomic.Bool
}

// AuthenticateToken authenticates a token by TokenReview. Every error is a [*Denied].
// [reviewclient.WithMaxAge] bounds the age of the answer.
func (r *tokenOfRequest) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	t := r.tokens
	if len(token) > maxToken && !t.auditOnly {
		return nil, false, deny(kubeletauth.RuleLimit, fmt.Sprintf("the token is longer than %d bytes", maxToken), nil)
	}
	key := t.hash.of(token)
	v, ok := t.reviewer.Cached(key, reviewclient.MaxAgeOf(ctx))
	if !ok {
		var err error
		if v, err = t.reviewer.Do(ctx, r.question(ctx, key, token)); err != nil {
			return nil, false, unanswered(err)
		}
	}
	if r.over.Load() {
		r.findings = append(r.findings, rules.Finding{Rule: kubeletauth.RuleLimit, Message: t.limits.tooMany})
	}
	if v.response == nil {
		return nil, false, deny(kubeletauth.RuleAuthenticated, "invalid token", errors.New(v.complaint))
	}
	if v.foreign {
		if refusal := r.foreign(); refusal != nil {
			return nil, false, refusal
		}
	}
	return v.response, true, nil
}

func (r *tokenOfRequest) question(ctx context.Context, key reviewclient.Key,
	token string) reviewclient.Query[reviewed] {
	t := r.tokens
	user, proven := t.proven.Get(key)
	return reviewclient.Query[reviewed]{
		Key: key,
		Ask: func(ctx context.Context) (reviewed, error) {
			v, err := t.ask(ctx, token)
			t.learn(key, v, err)
			return v, err
		},
		Admit: func() error {
			err := t.take(r.client, user, proven)
			if err != nil && t.auditOnly {
				r.over.Store(true)
				return nil
			}
			return err
		},
		Trusted: proven,
		MaxAge:  reviewclient.MaxAgeOf(ctx),
	}
}

// take takes one review of the limit that applies to a token, or returns a [*Denied].
func (t *tokens) take(client netip.Prefix, user reviewclient.Key, proven bool) error {
	if proven {
		return t.provenLimits.take(user)
	}
	return t.limits.take(client)
}

// learn records whether a token is valid. If the review failed, nothing changes.
func (t *tokens) learn(key reviewclient.Key, v reviewed, err error) {
	switch {
	case err != nil:
	case v.response != nil:
		t.proven.Put(key, t.hash.of(v.response.User.GetName()), 0, provenFor)
	default:
		t.proven.Remove(key)
	}
}

// unanswered returns the denial of a token whose review failed. A limit gives a 429, because a
// retry may succeed. Every other error is Unauthorized, as in the kubelet.
func unanswered(err error) *Denied {
	if refusal := find(err); refusal != nil {
		return refusal
	}
	if errors.Is(err, reviewclient.ErrBusy) {
		return limited("too many tokens are being reviewed", time.Second, err)
	}
	return deny(kubeletauth.RuleAuthenticated, "the TokenReview failed", err)
}

// foreign applies rule KA-AUD-1 to a token that is for the API server. It returns a denial if the
// rule is enforced, and adds a finding if it is in audit mode.
func (r *tokenOfRequest) foreign() *Denied {
	refusal := deny(kubeletauth.RuleAudience, "the token is for the API server, not for kubelets", nil)
	switch r.tokens.mode {
	case rules.Audit:
		r.tokens.metrics.audited.Inc()
		r.findings = append(r.findings, rules.Finding{Rule: refusal.Rule, Message: refusal.Message})
		return nil
	case rules.Enforce:
		return refusal
	default:
		return nil
	}
}

// ask makes one TokenReview. The audiences in the token select the audiences of the review. A token
// for kubelets must be valid for one of the kubelets' audiences. Every other token must be valid
// for the API server, as in the kubelet.
func (t *tokens) ask(ctx context.Context, token string) (reviewed, error) {
	spec := authenticationv1.TokenReviewSpec{Token: token}
	ours := authenticator.Audiences(t.audiences)
	foreign := len(ours.Intersect(claimedAudiences(token))) == 0
	if !foreign {
		spec.Audiences = t.audiences
	}
	answer, err := t.reviews.Create(ctx, &authenticationv1.TokenReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return reviewed{}, err
	}
	status := answer.Status
	if !status.Authenticated {
		return reviewed{complaint: bounded(status.Error)}, nil
	}
	audiences := authenticator.Audiences(status.Audiences)
	if !foreign {
		if audiences = ours.Intersect(audiences); len(audiences) == 0 {
			return reviewed{complaint: "the API server did not say that it is for kubelets"}, nil
		}
	}
	return reviewed{response: responseOf(status.User, audiences), foreign: foreign}, nil
}

func responseOf(who authenticationv1.UserInfo, audiences authenticator.Audiences) *authenticator.Response {
	var extra map[string][]string
	if who.Extra != nil {
		extra = make(map[string][]string, len(who.Extra))
		for key, values := range who.Extra {
			extra[key] = values
		}
	}
	return &authenticator.Response{
		Audiences: audiences,
		User:      &user.DefaultInfo{Name: who.Username, UID: who.UID, Groups: who.Groups, Extra: extra},
	}
}

// bounded copies and shortens a message, so that a long one does not stay in memory.
func bounded(complaint string) string {
	if complaint == "" {
		complaint = "the API server does not know it"
	}
	return string([]byte(complaint[:min(len(complaint), 256)]))
}
