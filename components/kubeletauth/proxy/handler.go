// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// patience is how long a request waits for its place among those of the same
// client.
const patience = time.Second

// Handler serves a kubelet's API to those who may use it. It is safe for
// concurrent use. Use [New].
type Handler struct {
	config   Config
	measures *measures
	reverse  *httputil.ReverseProxy
	buffers  *buffers
	errors   *connectionErrors

	authenticating, authorizing, requests, lasting *webhook.Limiter
	streams                                        streams
	ids                                            atomic.Uint64

	shares *shares
	// recording and sharing are the modes of KA-AUDIT-1 and KA-LIMIT-2.
	recording, sharing rules.Mode
}

// nobodys is for bounds that would have one client wait for the others: what is being
// decided at one time is bounded by connections and their streams.
const nobodys = 1 << 20

// New makes a handler and registers its metrics.
func New(config Config) (*Handler, error) {
	if err := config.Limits.Validate(); err != nil {
		return nil, err
	}
	limits := config.Limits
	h := &Handler{
		config:   config,
		measures: newMeasures(config.Registry, config.Rules),
		buffers:  &buffers{},
		errors:   newConnectionErrors(config.Logger),
		authenticating: webhook.NewLimiter(webhook.Limits{InFlightPerNode: limits.Authenticating, InFlight: nobodys},
			patience),
		authorizing: webhook.NewLimiter(webhook.Limits{InFlightPerNode: limits.Requests, InFlight: nobodys}, patience),
		requests: webhook.NewLimiter(webhook.Limits{InFlightPerNode: limits.Requests, InFlight: limits.AllRequests},
			patience),
		lasting: webhook.NewLimiter(webhook.Limits{InFlightPerNode: limits.Streams, InFlight: limits.AllStreams}, patience),
		shares:  newShares(limits.Streams),
	}
	if config.ModeOf != nil {
		h.recording, h.sharing = config.ModeOf(kubeletauth.RuleAuditLog), config.ModeOf(kubeletauth.RuleShare)
	}
	h.reverse = h.newReverse()
	return h, nil
}

// ServeHTTP answers with the kubelet's answer, or with why there is none.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	x := h.begin(w, req)
	defer func() {
		if !x.joined {
			x.finish()
		}
	}()
	refused := h.decide(x, req)
	if refused == nil {
		refused = h.record(x)
	}
	if refused != nil {
		// What is left of the body is not read.
		refused.last = refused.last || req.ContentLength != 0
		x.refused(refused)
	}
	x.passed = refused == nil
	h.measures.decided(x.rule, x.line.Decision, time.Since(x.line.Time))
	if refused != nil {
		refused.write(x, req)
		return
	}
	h.forward(x, req)
}

// decide asks every question, in the kubelet's order: who it is, and then whether
// one of the rights that the path needs is there. What can be refused without
// asking anybody is refused first. Places are for those who may, and nothing of a
// body is read for others.
func (h *Handler) decide(x *exchange, req *http.Request) *reply {
	upgrade, refused := checkShape(req)
	if refused != nil {
		return refused
	}
	mapping, audited, unmapped := h.config.Map(kubeletauth.Request{
		Method: req.Method, Path: req.URL.Path, RawPath: req.URL.RawPath, Upgrade: upgrade,
	})
	if unmapped != nil {
		return &reply{Decision: *unmapped}
	}
	x.mapped(mapping, audited)
	if refused := h.authenticate(x, req); refused != nil {
		return refused
	}
	if refused := h.authorize(req.Context(), x); refused != nil {
		return refused
	}
	if refused := h.admit(x, req.Context()); refused != nil {
		return refused
	}
	h.audit(req.Context(), x)
	return x.readBody(req)
}

// admit gives a request a place among those of its user, and its connection one among
// those that are not new.
func (h *Handler) admit(x *exchange, ctx context.Context) *reply {
	limiter, what := h.requests, "the user has too many in flight"
	if x.mapping.Streams {
		limiter, what = h.lasting, "the user has too many streams"
	}
	release, over := limiter.AdmitNode(ctx, x.user.GetName())
	if over != webhook.WithinLimits {
		return overLimit(what)
	}
	x.release = release
	if x.mapping.Streams {
		if refused := h.share(x); refused != nil {
			return refused
		}
	}
	if c := connectionOf(ctx); c != nil && !c.letIn.Load() && !c.room.admit(c, x.user.GetName()) {
		return overLimit("the user has too many connections")
	}
	return nil
}
