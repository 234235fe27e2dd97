// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Config is the configuration of a handler. Every field except Untyped and Entry is required.
type Config struct {
	Reviewer Reviewer
	// NodeName reports whether a user's writes are reviewed, and which node's share of the limits
	// they use.
	NodeName func(user.Info) (string, bool)
	// Untyped selects resources, besides those of the built-in table, whose objects are also
	// decoded, as [unstructured.Unstructured]. If Untyped is nil, there are none.
	Untyped func(schema.GroupResource) bool
	Limits  webhook.Limits
	// LimitRule is the rule that a denial cites if a request exceeds a limit.
	LimitRule rules.Rule
	// Rules are the rules that the reviewer cites. Metrics name only these.
	Rules    []rules.Rule
	Registry metrics.KubeRegistry
	// Entry, if it is not empty, is the value of the label "entry" of all metrics. It is for a
	// process with several handlers.
	Entry  string
	Logger klog.Logger
	Clock  clock.PassiveClock
}

// Reviewer decides on one write of a node.
type Reviewer interface {
	// Review must be safe for concurrent use. [Handler] lists the objects in the attributes. The
	// reviewer may keep them.
	Review(ctx context.Context, a admission.Attributes) rules.Decision
}

// ReviewerFunc is a function that implements Reviewer.
type ReviewerFunc func(ctx context.Context, a admission.Attributes) rules.Decision

// Review calls the function.
func (f ReviewerFunc) Review(ctx context.Context, a admission.Attributes) rules.Decision {
	return f(ctx, a)
}

// Handler answers AdmissionReviews.
//
// The reviewer gets typed objects of k8s.io/api for the resources and subresources in the table of
// [newTargets], and unstructured objects for those of Config.Untyped. For every other resource, and
// for CONNECT, the reviewer gets no object, but it is still called: a rule may deny a request
// without the object. Options are not decoded.
type Handler struct {
	config  Config
	targets targets
	limiter *webhook.Limiter
	room    *room
	metrics *recorder
	// lines logs denials, audits logs findings. Each has its own rate limit, so that a rule in
	// audit mode does not suppress the log lines of real denials.
	lines, audits *webhook.Lines
	queue         webhook.Queue
}

// New creates a handler and registers its metrics.
func New(config Config) *Handler {
	recorder := newRecorder(config.Registry, config.Rules, config.Entry)
	queue := webhook.NewQueue()
	return &Handler{
		config:  config,
		targets: newTargets(config.Untyped),
		limiter: webhook.NewLimiter(config.Limits, patience),
		room:    newRoom(),
		metrics: recorder,
		lines:   webhook.NewLines(config.Clock, recorder.Unlogged, queue),
		audits:  webhook.NewLines(config.Clock, recorder.Unlogged, queue),
		queue:   queue,
	}
}

// Run writes the log until ctx is done. The handler answers requests even if Run is not called.
func (h *Handler) Run(ctx context.Context) { h.queue.Run(ctx) }

// ServeHTTP answers 200 to every AdmissionReview v1, and a 4xx to every other request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !webhook.IsReview(w, req) {
		h.unreadable(req, notAReview)
		return
	}
	if req.ContentLength > maxBody {
		h.refuseUnread(w, req, webhook.TooLarge)
		return
	}
	held, over := h.room.enter(req.Context(), req.ContentLength)
	if over != webhook.WithinLimits {
		h.refuseUnread(w, req, over)
		return
	}
	defer held.leave()
	body, err := webhook.ReadBody(req.Body, req.ContentLength, maxBody)
	if body != nil {
		defer body.Release()
	}
	switch {
	case errors.Is(err, webhook.ErrTooLarge):
		h.refuseHead(w, req, body.Bytes(), webhook.TooLarge)
	case err != nil:
		h.unreadable(req, brokenOff)
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		h.serveReview(w, req, body.Bytes(), held)
	}
}

// serveReview answers a review that was read completely.
func (h *Handler) serveReview(w http.ResponseWriter, req *http.Request, body []byte, held *spot) {
	q, err := decodeReview(body)
	if err != nil {
		h.unreadable(req, undecodable)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	start := h.config.Clock.Now()
	answer := h.answer(req.Context(), q, held)
	h.metrics.decided(q, answer, h.config.Clock.Since(start))
	h.logRefusal(q, answer)
	h.logFindings(q, answer)
	write(w, responseTo(q.UID, answer))
}

// answer admits a write of a user that is not a node. It denies a write that exceeds a limit or
// cannot be decoded. It calls the reviewer for every other write.
func (h *Handler) answer(ctx context.Context, q *request, held *spot) rules.Decision {
	node, isNode := h.config.NodeName(q.user())
	if !isNode {
		return rules.Decision{Effect: rules.Allow}
	}
	if over := held.belongsTo(node); over != webhook.WithinLimits {
		return h.overLimit(over)
	}
	release, over := h.limiter.AdmitNode(ctx, node)
	if over != webhook.WithinLimits {
		return h.overLimit(over)
	}
	defer release()
	h.metrics.InFlight.Inc()
	defer h.metrics.InFlight.Dec()
	return h.review(ctx, q)
}

// review calls the reviewer. A panic of the reviewer becomes a denial.
func (h *Handler) review(ctx context.Context, q *request) (answer rules.Decision) {
	webhook.Guarded(func() {
		attributes, err := h.targets.attributesOf(q)
		if err != nil {
			answer = denial("", http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		answer = h.config.Reviewer.Review(ctx, attributes)
		if !answer.Allowed() && answer.Rule == "" {
			panic("a denial by no rule")
		}
	}, func(cause, stack string) {
		h.metrics.panics.Inc()
		h.logPanic(q, cause, stack)
		answer = internalError()
	})
	return answer
}

func (h *Handler) overLimit(by webhook.Excess) rules.Decision {
	h.metrics.Limited(by)
	return limited(h.config.LimitRule, by)
}

// refuseUnread denies a review of which only the first bytes are read.
func (h *Handler) refuseUnread(w http.ResponseWriter, req *http.Request, over webhook.Excess) {
	head, err := webhook.ReadBody(req.Body, maxHead, maxHead)
	if head != nil {
		defer head.Release()
	}
	if err != nil && !errors.Is(err, webhook.ErrTooLarge) {
		h.unreadable(req, brokenOff)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.refuseHead(w, req, head.Bytes(), over)
}

// refuseHead denies a review that starts with head. The answer names no user: in a review, the user
// comes after the objects.
func (h *Handler) refuseHead(w http.ResponseWriter, req *http.Request, head []byte, over webhook.Excess) {
	uid, ok := uidIn(head[:min(len(head), maxHead)])
	if !ok {
		h.unreadable(req, noUID)
		http.Error(w, "no uid at the start of the review", http.StatusBadRequest)
		return
	}
	q, answer := &request{UID: uid}, h.overLimit(over)
	h.metrics.refusedUnread(answer)
	h.logRefusal(q, answer)
	write(w, responseTo(uid, answer))
}
