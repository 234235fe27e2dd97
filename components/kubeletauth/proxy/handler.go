// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// queueTimeout bounds the wait for a place among the requests of the same client.
const queueTimeout = time.Second

// Handler serves a kubelet's API to authorized clients. It is safe for concurrent use. Create one
// with [New].
type Handler struct {
	config  Config
	metrics *recorder
	reverse *httputil.ReverseProxy
	errors  *ratelimitedLog

	authenticating, authorizing, requests, lasting *webhook.Limiter
	streams                                        streams
	ids                                            atomic.Uint64

	shares     *shares
	components *components
	// recording and sharing are the modes of KA-AUDIT-1 and KA-LIMIT-2.
	recording, sharing rules.Mode
}

// unlimited disables the limit for all clients together, which would make one client wait for the
// others. The limits on connections, and on their HTTP/2 streams, already bound the total.
const unlimited = 1 << 20

// New validates the limits and registers the metrics.
func New(config Config) (*Handler, error) {
	if err := config.Limits.Validate(); err != nil {
		return nil, err
	}
	limits := config.Limits
	h := &Handler{
		config:  config,
		metrics: newRecorder(config.Registry, config.Rules),
		errors:  newRatelimitedLog(config.Logger),
		authenticating: webhook.NewLimiter(webhook.Limits{InFlightPerNode: limits.Authenticating, InFlight: unlimited},
			queueTimeout),
		authorizing: webhook.NewLimiter(webhook.Limits{InFlightPerNode: limits.Requests, InFlight: unlimited}, queueTimeout),
		requests: webhook.NewLimiter(webhook.Limits{InFlightPerNode: limits.Requests, InFlight: limits.AllRequests},
			queueTimeout),
		lasting: webhook.NewLimiter(webhook.Limits{InFlightPerNode: limits.Streams, InFlight: limits.AllStreams},
			queueTimeout),
		shares:     newShares(limits.Streams),
		components: newComponents(config.Components),
	}
	if config.ModeOf != nil {
		h.recording, h.sharing = config.ModeOf(kubeletauth.RuleAuditLog), config.ModeOf(kubeletauth.RuleShare)
	}
	h.reverse = h.newReverse()
	return h, nil
}

// ServeHTTP decides on the request, and forwards it if it is allowed.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	rc := h.newRequest(w, req)
	defer rc.finish()
	refused := h.decide(rc, req)
	if refused == nil {
		refused = h.record(rc)
	}
	if refused != nil {
		// The proxy has not read the whole body.
		refused.last = refused.last || req.ContentLength != 0
		rc.setDenial(refused)
	}
	rc.allowed = refused == nil
	h.metrics.decided(rc.rule, rc.event.Decision, time.Since(rc.event.Time))
	if refused != nil {
		refused.write(rc, req)
		return
	}
	switch {
	case rc.redirect != "":
		rc.Header().Set("Location", rc.redirect)
		rc.WriteHeader(http.StatusTemporaryRedirect)
	case rc.mapping.Component != "":
		h.serveComponent(rc, req)
	default:
		h.forward(rc, req)
	}
}

// decide runs every check, in the kubelet's order: authentication, then authorization for one of
// the rights that the path requires. Checks without a call to the API server run first. Only an
// authorized request gets a place in the limits, and only its body is read.
func (h *Handler) decide(rc *requestContext, req *http.Request) *response {
	upgrade, refused := checkShape(req)
	if rc.denies(refused) {
		return refused
	}
	if refused := h.mapRights(rc, req.URL, kubeletauth.Request{
		Method: req.Method, Path: req.URL.Path, RawPath: req.URL.RawPath, Upgrade: upgrade,
	}); refused != nil {
		return refused
	}
	if refused := h.authenticate(rc, req); refused != nil {
		return refused
	}
	if rc.redirect != "" {
		rc.addAudits()
		return nil
	}
	if refused := h.authorize(req.Context(), rc); refused != nil {
		return refused
	}
	if refused := h.admit(rc, req.Context()); refused != nil {
		return refused
	}
	rc.addAudits()
	h.audit(req.Context(), rc)
	return rc.readBody(req)
}

// mapRights sets the rights that the request requires. With [Config].AuditOnly, a path that a rule
// denies gets the kubelet's own answer: a redirect, or what its rights allow.
func (h *Handler) mapRights(rc *requestContext, target *url.URL, asked kubeletauth.Request) *response {
	mapping, audited, unmapped := h.config.Map(asked)
	if unmapped == nil {
		rc.setMapping(mapping, audited)
		return nil
	}
	refused := &response{Decision: *unmapped}
	// A target without a path stays denied. Forwarded, it could name another path to the kubelet.
	isPath := unmapped.Code == http.StatusBadRequest && strings.HasPrefix(asked.Path, "/")
	if !isPath || rc.denies(refused) {
		return refused
	}
	rc.setMapping(kubeletauth.MapAsKubelet(asked), kubeletauth.Mapping{})
	rc.redirect = redirectOf(target)
	return nil
}

// redirectOf returns the address to which the kubelet redirects a request with an unclean path, or ""
// (net/http ServeMux). The kubelet does so for every user.
func redirectOf(target *url.URL) string {
	escaped := target.EscapedPath()
	clean := path.Clean(escaped)
	if clean != "/" && strings.HasSuffix(escaped, "/") {
		clean += "/"
	}
	if clean == escaped {
		return ""
	}
	return (&url.URL{Path: clean, RawQuery: target.RawQuery}).String()
}

// admit gives a request a place among the requests of its user. It gives its connection a slot
// among the admitted connections.
func (h *Handler) admit(rc *requestContext, ctx context.Context) *response {
	limiter, what := h.requests, "the user has too many requests in flight"
	switch {
	case rc.mapping.Streams:
		limiter, what = h.lasting, "the user has too many streams"
	case rc.mapping.Component != "":
		limiter, what = h.components.limiter, "too many requests for metrics of components are in flight"
	}
	release, refused := rc.place(ctx, limiter, rc.user.GetName(), what)
	if refused != nil {
		return refused
	}
	rc.release = release
	if rc.mapping.Streams {
		if refused := h.share(rc); refused != nil {
			return refused
		}
	}
	if c := connectionOf(ctx); c != nil && !c.admitted.Load() && !c.pool.admit(c, rc.user.GetName()) {
		return overLimit("the user has too many connections")
	}
	return nil
}
