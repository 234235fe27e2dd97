// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Config is what a handler is made of. Every field but Entry is needed.
type Config struct {
	Authorizer Authorizer
	// NodeName says whether a user is a node, and which one.
	NodeName func(user.Info) (string, bool)
	Limits   Limits
	// MaxReading bounds the reviews being read at one time. It should not be less
	// than the requests that one connection may carry.
	MaxReading int
	// LimitRule is the rule that a refusal beyond a bound cites.
	LimitRule rules.Rule
	// Rules are those that the authorizer cites; metrics name no other.
	Rules    []rules.Rule
	Registry metrics.KubeRegistry
	// Entry tells the metrics of two handlers apart: it is the value of their label
	// "entry". The one without has no such label. Each needs a registry of its own.
	Entry  string
	Logger klog.Logger
	Clock  clock.PassiveClock
}

// Authorizer decides on one request.
type Authorizer interface {
	// Decide is called by many at one time. The attributes must not be kept after the call.
	Decide(ctx context.Context, a authorizer.Attributes) rules.Decision
}

// AuthorizerFunc is a function that is an Authorizer.
type AuthorizerFunc func(ctx context.Context, a authorizer.Attributes) rules.Decision

// Decide calls the function.
func (f AuthorizerFunc) Decide(ctx context.Context, a authorizer.Attributes) rules.Decision {
	return f(ctx, a)
}

// Handler answers SubjectAccessReviews.
type Handler struct {
	config  Config
	limiter *webhook.Limiter
	metrics *recorder
	// lines are for decisions, audits for findings. Each has bounds of its own, so
	// that a rule in audit does not crowd out what is really refused.
	lines, audits *webhook.Lines
	queue         webhook.Queue
	// reading has a place for every review being read. A request waits for its
	// turn: whose it is, and so whose share it takes, is known only when it has
	// been read.
	reading chan struct{}
}

// New makes a handler and registers its metrics.
func New(config Config) *Handler {
	recorder := newRecorder(config.Registry, config.Rules, config.Entry)
	queue := webhook.NewQueue()
	return &Handler{
		config:  config,
		limiter: webhook.NewLimiter(config.Limits, patience),
		metrics: recorder,
		lines:   webhook.NewLines(config.Clock, recorder.Unlogged, queue),
		audits:  webhook.NewLines(config.Clock, recorder.Unlogged, queue),
		queue:   queue,
		reading: make(chan struct{}, config.MaxReading),
	}
}

// Run writes the log until ctx is done. Requests are answered without it.
func (h *Handler) Run(ctx context.Context) { h.queue.Run(ctx) }

// ServeHTTP answers 200 to every SubjectAccessReview v1, and a 4xx to all else.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !webhook.IsReview(w, req) {
		return
	}
	spec, err := h.read(req)
	switch {
	case errors.Is(err, errTooLarge):
		write(w, h.refuseUnread(err))
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		write(w, h.decide(req.Context(), spec))
	}
}

// refuseUnread answers a review that was not read to its end, so that nobody can
// be named.
func (h *Handler) refuseUnread(why error) status {
	d := h.overLimit(webhook.TooLarge, why.Error())
	h.metrics.refusedUnread(d)
	answer := statusOf(d, nil)
	h.log(&authorizer.AttributesRecord{User: &user.DefaultInfo{}}, d, answer)
	return answer
}

// decide gives one request its answer, its metrics and its lines in the log.
func (h *Handler) decide(ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec) status {
	start := h.config.Clock.Now()
	a := attributesFrom(spec)
	d, fault := h.answer(ctx, spec, a)
	answer := statusOf(d, fault)
	h.metrics.decided(a, d, h.config.Clock.Since(start))
	h.log(a, d, answer)
	for _, finding := range d.Findings {
		h.audited(a, finding)
	}
	return answer
}

// answer denies what is over a bound and asks the authorizer about the rest.
func (h *Handler) answer(ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec,
	a *authorizer.AttributesRecord) (rules.Decision, error) {
	if requirements(spec.ResourceAttributes) > maxRequirements {
		return h.overLimit(webhook.TooLarge, fmt.Sprintf("more than %d selector requirements", maxRequirements)), nil
	}
	release, over := h.admit(ctx, a.User)
	if over != webhook.WithinLimits {
		return h.overLimit(over, over.Text()), nil
	}
	defer release()
	h.metrics.InFlight.Inc()
	defer h.metrics.InFlight.Dec()
	return h.authorize(ctx, a)
}

func (h *Handler) admit(ctx context.Context, who user.Info) (release func(), over webhook.Excess) {
	if node, isNode := h.config.NodeName(who); isNode {
		return h.limiter.AdmitNode(ctx, node)
	}
	return h.limiter.Admit(ctx)
}

func (h *Handler) overLimit(by webhook.Excess, text string) rules.Decision {
	h.metrics.Limited(by)
	return rules.Decision{Rule: h.config.LimitRule.ID, Message: text}
}

var errPanicked = errors.New("the authorizer panicked")

// authorize asks the authorizer. A panic denies, because whoever can bring it about must
// not choose another authorizer by it.
func (h *Handler) authorize(ctx context.Context, a *authorizer.AttributesRecord) (d rules.Decision, fault error) {
	webhook.Guarded(func() {
		d = h.config.Authorizer.Decide(ctx, a)
	}, func(cause, stack string) {
		h.metrics.panics.Inc()
		h.logPanic(a, cause, stack)
		d, fault = rules.Decision{Message: "internal error"}, errPanicked
	})
	return d, fault
}
