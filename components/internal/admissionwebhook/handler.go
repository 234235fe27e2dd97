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

// Config is what a handler is made of. Every field but Untyped and Entry is needed.
type Config struct {
	Reviewer Reviewer
	// NodeName says whether a user's writes are reviewed, and in which node's share.
	NodeName func(user.Info) (string, bool)
	// Untyped says of which resources beside those of the table the objects are decoded
	// too, as [unstructured.Unstructured]; nil of none.
	Untyped func(schema.GroupResource) bool
	Limits  webhook.Limits
	// LimitRule is the rule that a refusal beyond a bound cites.
	LimitRule rules.Rule
	// Rules are those that the reviewer cites; metrics name no other.
	Rules    []rules.Rule
	Registry metrics.KubeRegistry
	// Entry, if it is not empty, is a label of all metrics, where a process has several
	// handlers.
	Entry  string
	Logger klog.Logger
	Clock  clock.PassiveClock
}

// Reviewer decides on one write of a node.
type Reviewer interface {
	// Review is called by many at one time. The objects of the attributes are
	// listed at [Handler]; they are the reviewer's to keep.
	Review(ctx context.Context, a admission.Attributes) rules.Decision
}

// ReviewerFunc is a function that is a Reviewer.
type ReviewerFunc func(ctx context.Context, a admission.Attributes) rules.Decision

// Review calls the function.
func (f ReviewerFunc) Review(ctx context.Context, a admission.Attributes) rules.Decision {
	return f(ctx, a)
}

// Handler answers AdmissionReviews.
//
// The reviewer gets objects of the types of k8s.io/api for the resources and
// subresources in the table of [newTargets], and unstructured ones for those of
// Config.Untyped. For every other one, and for CONNECT, it gets none, but is asked all the same:
// what it refuses whatever the object says
// needs no object. Options are not decoded.
type Handler struct {
	config  Config
	targets targets
	limiter *webhook.Limiter
	room    *room
	metrics *recorder
	// lines are for refusals, audits for findings. Each has bounds of its own, so
	// that a rule in audit does not crowd out what is really refused.
	lines, audits *webhook.Lines
	queue         webhook.Queue
}

// New makes a handler and registers its metrics.
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

// Run writes the log until ctx is done. Requests are answered without it.
func (h *Handler) Run(ctx context.Context) { h.queue.Run(ctx) }

// ServeHTTP answers 200 to every AdmissionReview v1, and a 4xx to all else.
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

// serveReview answers a review that was read.
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

// answer admits what is no node's, refuses what is over a bound or cannot be read,
// and asks the reviewer about the rest.
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

// review asks the reviewer. What goes wrong there is never an admission.
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

// refuseUnread answers a review of which only the first bytes are read.
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

// refuseHead answers a review that starts with head. Nobody can be named: who asks
// is told behind the objects.
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
