// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"context"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
)

const (
	// cachedDecisions is the cache size of the webhook authorizer of k8s.io/apiserver.
	cachedDecisions = 8192
	cachedBytes     = 8 << 20
	// maxCachedAttributes is the limit of k8s.io/apiserver/plugin/pkg/authorizer/webhook shouldCache.
	maxCachedAttributes = 10_000
	// maxReason bounds, in bytes, the part of the API server's reason that is kept.
	maxReason = 1 << 10
)

// Config is the configuration of an [Authorizer].
type Config struct {
	Options
	// Reviews makes SubjectAccessReviews. Its client must have no rate limit of its own. It may be
	// nil with AlwaysAllow.
	Reviews  authorizationv1client.SubjectAccessReviewInterface
	Registry metrics.KubeRegistry
}

// Answer is a decision.
type Answer struct {
	Allowed bool
	// Cached means that this request needed no call to the API server.
	Cached bool
	// Reason is the API server's reason, for the audit log; at most 1 KiB.
	Reason string
}

// Authorizer authorizes requests. It is safe for concurrent use. Create one with [New].
type Authorizer struct {
	reviews authorizationv1client.SubjectAccessReviewInterface
	// reviewer is nil if every request is allowed.
	reviewer *reviewclient.Client[Answer]
}

// New creates an authorizer. It makes no request.
func New(config Config) (*Authorizer, error) {
	if err := errors.Join(config.Validate()...); err != nil {
		return nil, err
	}
	if config.Mode == ModeAlwaysAllow {
		return &Authorizer{}, nil
	}
	if config.Reviews == nil {
		return nil, errors.New("--authorization-mode=Webhook needs a client of the API server")
	}
	return &Authorizer{
		reviews: config.Reviews,
		reviewer: reviewclient.New(reviewclient.Config[Answer]{
			Name:    "access",
			Keep:    func(a Answer) (time.Duration, int) { return config.ttl(a.Allowed), len(a.Reason) },
			Entries: cachedDecisions, Bytes: cachedBytes,
			InFlight: config.MaxInFlight, Waiting: config.MaxWaiting,
			Registry: config.Registry,
		}),
	}, nil
}

func (o *Options) ttl(allowed bool) time.Duration {
	if allowed {
		return o.AuthorizedTTL
	}
	return o.UnauthorizedTTL
}

// Authorize decides on one request. It returns an error if there is no decision: the API server did
// not answer within ctx or within 10 s, its answer contradicted itself, or too many requests wait
// for it ([reviewclient.ErrBusy]). [reviewclient.WithMaxAge] bounds the age of the answer.
func (a *Authorizer) Authorize(ctx context.Context, attrs authorizer.Attributes) (Answer, error) {
	if a.reviewer == nil {
		return Answer{Allowed: true}, nil
	}
	key, maxAge := keyOf(attrs), reviewclient.MaxAgeOf(ctx)
	if known, ok := a.reviewer.Cached(key, maxAge); ok {
		known.Cached = true
		return known, nil
	}
	answer, err := a.reviewer.Do(ctx, reviewclient.Query[Answer]{
		Key:     key,
		Ask:     func(ctx context.Context) (Answer, error) { return a.ask(ctx, attrs) },
		NoCache: attributeBytes(attrs) >= maxCachedAttributes,
		MaxAge:  maxAge,
	})
	if err != nil {
		return Answer{}, fmt.Errorf("reviewing access: %w", err)
	}
	return answer, nil
}

// Wait returns when no review is in flight. Authorize must not be called any more.
func (a *Authorizer) Wait() {
	if a.reviewer != nil {
		a.reviewer.Wait()
	}
}

func (a *Authorizer) ask(ctx context.Context, attrs authorizer.Attributes) (Answer, error) {
	answer, err := a.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: specOf(attrs)}, metav1.CreateOptions{})
	if err != nil {
		return Answer{}, err
	}
	status := answer.Status
	if status.Allowed && status.Denied {
		return Answer{}, errors.New("the API server both allows and denies")
	}
	reason := status.Reason
	if reason == "" {
		reason = status.EvaluationError
	}
	return Answer{Allowed: status.Allowed, Reason: bounded(reason)}, nil
}

// bounded copies and shortens a reason, so that a long one does not stay in memory.
func bounded(reason string) string {
	return string([]byte(reason[:min(len(reason), maxReason)]))
}
