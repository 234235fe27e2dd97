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

// Config is the configuration of a handler. Every field except Entry is required.
type Config struct {
	Authorizer Authorizer
	// NodeName reports whether a user is a node, and its node name.
	NodeName func(user.Info) (string, bool)
	Limits   Limits
	// MaxReading bounds the reviews that are read at one time. It should be at least the number of
	// requests that one connection may have in flight.
	MaxReading int
	// LimitRule is the rule that a denial cites if a request exceeds a limit.
	LimitRule rules.Rule
	// Rules are the rules that the authorizer cites. Metrics name only these.
	Rules    []rules.Rule
	Registry metrics.KubeRegistry
	// Entry is the value of the label "entry" of all metrics. It distinguishes two handlers of one
	// process. If Entry is empty, the metrics have no such label. Each handler needs its own
	// registry.
	Entry  string
	Logger klog.Logger
	Clock  clock.PassiveClock
}

// Authorizer decides on one request.
type Authorizer interface {
	// Decide must be safe for concurrent use. It must not keep the attributes after it returns.
	Decide(ctx context.Context, a authorizer.Attributes) rules.Decision
}

// AuthorizerFunc is a function that implements Authorizer.
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
	// lines logs decisions, audits logs findings. Each has its own rate limit, so that a rule in
	// audit mode does not suppress the log lines of real denials.
	lines, audits *webhook.Lines
	queue         webhook.Queue
	// reading bounds the reviews that are read at one time. A request waits for its turn. It cannot
	// count against a node's share yet, because the user is known only after the review is read.
	reading chan struct{}
}

// New creates a handler and registers its metrics.
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

// Run writes the log until ctx is done. The handler answers requests even if Run is not called.
func (h *Handler) Run(ctx context.Context) { h.queue.Run(ctx) }

// ServeHTTP answers 200 to every SubjectAccessReview v1, and a 4xx to every other request.
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

// refuseUnread denies a review that is too large to read. The user is unknown.
func (h *Handler) refuseUnread(why error) status {
	d := h.overLimit(webhook.TooLarge, why.Error())
	h.metrics.refusedUnread(d)
	answer := statusOf(d, nil)
	h.log(&authorizer.AttributesRecord{User: &user.DefaultInfo{}}, d, answer)
	return answer
}

// decide decides on one request, and records its metrics and log lines.
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

// answer denies a request that exceeds a limit, and calls the authorizer for every other request.
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

// authorize calls the authorizer. A panic is a denial. Otherwise a user who can cause a panic could
// have another authorizer decide.
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
