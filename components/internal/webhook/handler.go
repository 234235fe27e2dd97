// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Config is the configuration of a handler. Every field except Entry is required.
type Config struct {
	// NodeName reports whether a user is a node, and which node's share of the limits its requests
	// use.
	NodeName func(user.Info) (string, bool)
	Limits   Limits
	// LimitRule is the rule that a denial cites if a request exceeds a limit.
	LimitRule rules.Rule
	// Rules are the rules that the policy cites. Metrics name only these.
	Rules []rules.Rule
	// AuditOnly reports whether a denial by this rule only becomes a finding. The ID is empty for a
	// denial without a rule. If AuditOnly is nil, all rules are enforced.
	AuditOnly func(rules.ID) bool
	Registry  metrics.KubeRegistry
	// Entry is the value of the label "entry" of all metrics. It distinguishes two handlers of one
	// process. If Entry is empty, the metrics have no such label. Each handler needs its own
	// registry.
	Entry  string
	Logger klog.Logger
	Clock  clock.PassiveClock
}

// Protocol is what differs between the kinds of review. Q is a decoded request. All methods must be
// safe for concurrent use.
type Protocol[Q any] interface {
	// Decode returns the request in a review. excess is not empty if a limit forbids to decide on
	// the request. The handler answers 400 to an error.
	Decode(body []byte) (q Q, excess string, err error)
	// Unread returns what is known of a request if only the first bytes of the review are read. It
	// returns false if no review can answer the request.
	Unread(head []byte) (q Q, ok bool)
	// User returns the user of a request that was decoded.
	User(q Q) user.Info
	// Decide decides on a request. A panic denies it.
	Decide(ctx context.Context, q Q) rules.Decision
	// Answer returns the review that kube-apiserver reads. It must have a JSON form. For a denial by
	// the handler itself, Decision.Code is 413, 429 or 500.
	Answer(q Q, d rules.Decision) any
	// Labels describes a request for metrics.
	Labels(q Q) Labels
	// Describe returns log keys and values that describe a request.
	Describe(q Q) []any
	// Outcome returns log keys and values that describe a decision.
	Outcome(d rules.Decision) []any
}

// Settings are the fixed properties of a kind of review.
type Settings struct {
	// MaxBody bounds a review, in bytes.
	MaxBody int64
	Memory  Memory
	// SharesBody means that a decoded request shares memory with the body. Then the body is kept
	// until the request is answered. Otherwise it is kept until the request is decoded.
	SharesBody bool
	// QueueTimeout is how long a request waits for memory, for a place of its node, and for a place
	// among all requests. It waits for each separately, so at most three times.
	QueueTimeout time.Duration
	// NodesOnly means that requests of other users are allowed without a decision.
	NodesOnly bool
	// NotEnforced replaces a denial that only becomes a finding.
	NotEnforced rules.Effect
	Metrics     MetricNames
	// Allowed, Denied and Audited start the log lines of decisions and findings. Panicked starts
	// the log line of a panic.
	Allowed, Denied, Audited, Panicked string
}

// Handler answers reviews. It is safe for concurrent use.
type Handler[Q any] struct {
	protocol Protocol[Q]
	settings Settings
	config   Config
	// Limiter is exported for tests.
	Limiter *Limiter
	memory  *memoryLimiter
	// Metrics is exported for tests.
	Metrics *Metrics
	// Queue holds the log lines.
	Queue Queue
	// lines logs decisions, audits logs findings. Each has its own rate limit, so that a rule in
	// audit mode does not suppress the log lines of real denials.
	lines, audits *Lines
}

// NewHandler creates a handler and registers its metrics.
func NewHandler[Q any](protocol Protocol[Q], settings Settings, config Config) *Handler[Q] {
	m := newMetrics(config, settings.Metrics)
	queue := NewQueue()
	return &Handler[Q]{
		protocol: protocol, settings: settings, config: config,
		Limiter: NewLimiter(config.Limits, settings.QueueTimeout),
		memory:  newMemoryLimiter(settings.Memory, settings.MaxBody, settings.QueueTimeout),
		Metrics: m, Queue: queue,
		lines:  NewLines(config.Clock, m.Unlogged, queue),
		audits: NewLines(config.Clock, m.Unlogged, queue),
	}
}

// Run writes the log until ctx is done. The handler answers requests even if Run is not called.
func (h *Handler[Q]) Run(ctx context.Context) { h.Queue.Run(ctx) }

// Idle returns an error if a request has memory or a place, or waits for one. It is for tests.
func (h *Handler[Q]) Idle() error {
	if taken, nodes := h.Limiter.Held(); taken+nodes != 0 {
		return fmt.Errorf("%d places are taken, by %d nodes", taken, nodes)
	}
	return errors.Join(h.memory.small.idle(), h.memory.large.idle())
}

// ServeHTTP answers 200 to every review, and a 4xx to every other request.
func (h *Handler[Q]) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !IsReview(w, req) {
		h.unreadable(req, notAReview)
		return
	}
	if req.ContentLength > h.settings.MaxBody {
		h.denyUnread(w, req, TooLarge)
		return
	}
	memory, over := h.memory.reserve(req.Context(), req.ContentLength)
	if over != WithinLimits {
		h.denyUnread(w, req, over)
		return
	}
	defer memory.release()
	body, err := ReadBody(req.Body, req.ContentLength, h.settings.MaxBody)
	memory.body = body
	switch {
	case errors.Is(err, ErrTooLarge):
		h.denyHead(w, req, body.Bytes(), TooLarge)
	case err != nil:
		h.reject(w, req, bodyEndedEarly, err)
	default:
		h.serveReview(w, req, memory)
	}
}

// serveReview answers a review that was read completely.
func (h *Handler[Q]) serveReview(w http.ResponseWriter, req *http.Request, memory *reservation) {
	q, excess, err := h.protocol.Decode(memory.body.Bytes())
	if err != nil {
		h.reject(w, req, undecodable, err)
		return
	}
	if !h.settings.SharesBody {
		memory.release()
	}
	start := h.config.Clock.Now()
	node, isNode := h.config.NodeName(h.protocol.User(q))
	var d rules.Decision
	switch {
	case excess != "":
		d = h.overLimit(TooLarge, excess)
	case !isNode && h.settings.NodesOnly:
		d.Effect = rules.Allow
	default:
		d = h.admit(req.Context(), q, memory, node, isNode)
	}
	d = h.enforced(d)
	h.Metrics.decided(h.protocol.Labels(q), d, h.config.Clock.Since(start))
	h.logDecision(q, d)
	h.logFindings(q, node, d.Findings)
	h.write(w, q, d)
}

// enforced replaces a denial by a rule that is only audited. This includes denials by the handler
// itself: an installation that only audits must not deny what was allowed before it.
func (h *Handler[Q]) enforced(d rules.Decision) rules.Decision {
	if h.config.AuditOnly == nil || !h.config.AuditOnly(d.Rule) {
		return d
	}
	return d.AsFinding(h.settings.NotEnforced)
}

// admit denies a request that exceeds a limit, and lets the policy decide on every other request.
func (h *Handler[Q]) admit(ctx context.Context, q Q, memory *reservation, node string, isNode bool) rules.Decision {
	var release func()
	over := WithinLimits
	if isNode {
		if over = memory.countAgainst(node); over == WithinLimits {
			release, over = h.Limiter.AdmitNode(ctx, node)
		}
	} else {
		release, over = h.Limiter.Admit(ctx)
	}
	if over != WithinLimits {
		return h.overLimit(over, over.Text())
	}
	defer release()
	h.Metrics.InFlight.Inc()
	defer h.Metrics.InFlight.Dec()
	return h.decide(ctx, q)
}

// decide calls the policy. A panic is a denial. Otherwise a user who can cause a panic could have
// another authorizer decide, or have failurePolicy Ignore admit a write.
func (h *Handler[Q]) decide(ctx context.Context, q Q) (d rules.Decision) {
	defer func() {
		if cause := recover(); cause != nil {
			h.Metrics.Panics.Inc()
			h.logPanic(q, Loggable(fmt.Sprint(cause)), string(debug.Stack()))
			d = rules.Decision{Message: "internal error", Code: http.StatusInternalServerError}
		}
	}()
	return h.protocol.Decide(ctx, q)
}

// overLimit denies a request that exceeds a limit. A request that may succeed later has code 429.
func (h *Handler[Q]) overLimit(by Excess, text string) rules.Decision {
	h.Metrics.limited(by)
	d := rules.Decision{Rule: h.config.LimitRule.ID, Message: text, Code: http.StatusTooManyRequests}
	if by == TooLarge {
		d.Code = http.StatusRequestEntityTooLarge
	}
	return d
}
