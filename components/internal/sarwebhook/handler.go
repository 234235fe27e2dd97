// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Config is what a handler is made of. Every field is needed.
type Config struct {
	Authorizer authorizer.UnconditionalAuthorizer
	// NodeName says whether a user is a node, and which one.
	NodeName func(user.Info) (string, bool)
	Limits   Limits
	// LimitRule is the rule that a refusal for want of a share cites.
	LimitRule rules.Rule
	// Rules are those that the authorizer cites; metrics name no other.
	Rules    []rules.Rule
	Registry metrics.KubeRegistry
	Logger   klog.Logger
	Clock    clock.PassiveClock
}

// Handler answers SubjectAccessReviews.
type Handler struct {
	config  Config
	limiter *limiter
	metrics *recorder
	// reading bounds the reviews being read at one time. A request waits for its
	// turn: whose it is, and so whose share it takes, is known only when it has
	// been read.
	reading chan struct{}
}

// New makes a handler and registers its metrics.
func New(config Config) *Handler {
	return &Handler{
		config:  config,
		limiter: newLimiter(config.Limits, config.Clock),
		metrics: newRecorder(config.Registry, config.Rules),
		reading: make(chan struct{}, maxReading),
	}
}

// ServeHTTP answers 200 to every SubjectAccessReview v1, and a 4xx to all else.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "want POST", http.StatusMethodNotAllowed)
		return
	}
	if !isJSON(req.Header.Get("Content-Type")) {
		http.Error(w, "want application/json", http.StatusUnsupportedMediaType)
		return
	}
	spec, err := h.read(req)
	switch {
	case errors.Is(err, errTooLarge), errors.Is(err, errTooManyRequirements):
		h.metrics.limited(tooLarge)
		h.logOversize(err)
		write(w, denied(h.config.LimitRule.Reason(err.Error())))
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		write(w, h.decide(req.Context(), attributesFrom(spec)))
	}
}

// decide gives one request its answer, its metrics and its line in the log.
func (h *Handler) decide(ctx context.Context, a *authorizer.AttributesRecord) status {
	start := h.config.Clock.Now()
	node, isNode := h.config.NodeName(a.User)
	share, over := h.limiter.admit(node, isNode)
	var answer status
	if over == withinLimits {
		h.metrics.inFlight.Inc()
		answer = h.authorize(ctx, share, a)
		h.metrics.inFlight.Dec()
		h.limiter.release(share)
	} else {
		h.metrics.limited(over)
		answer = h.overLimit(node, over)
	}
	h.metrics.decided(a, answer, h.config.Clock.Since(start))
	h.log(share, a, answer)
	return answer
}

func (h *Handler) overLimit(node string, over excess) status {
	if over == allInFlight {
		return denied(h.config.LimitRule.Reason("too many requests in flight"))
	}
	return denied(h.config.LimitRule.Reason(fmt.Sprintf("node %q is over its share of requests", printable(node))))
}

// authorize asks the authorizer. What goes wrong there is never an allow: an
// error leaves the request to the authorizers behind, a panic denies it, because
// whoever can bring it about must not choose another authorizer by it.
func (h *Handler) authorize(ctx context.Context, s *share, a *authorizer.AttributesRecord) (answer status) {
	defer func() {
		if cause := recover(); cause != nil {
			h.metrics.panics.Inc()
			h.logPanic(s, cause)
			answer = status{Denied: true, Reason: "internal error", EvaluationError: "the authorizer panicked"}
		}
	}()
	decision, reason, err := h.config.Authorizer.Authorize(ctx, a)
	answer = status{Denied: decision == authorizer.DecisionDeny, Reason: reason}
	if err != nil {
		answer.EvaluationError = err.Error()
		return answer
	}
	answer.Allowed = decision == authorizer.DecisionAllow
	return answer
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == "application/json"
}
