// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// errRefused says that the kubelet does not know the proxy.
var errRefused = errors.New("the kubelet does not accept the proxy's client certificate")

// newReverse makes the standard library's reverse proxy fit. Of the two that offer
// themselves, this and k8s.io/apimachinery/pkg/util/proxy, it is the one whose answers can
// be looked at before anything of them goes on.
func (h *Handler) newReverse() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        h.rewrite,
		Transport:      chooser{ordinary: h.config.Transport, upgrades: h.config.Upgrades},
		ModifyResponse: checkAnswer,
		ErrorHandler:   h.unanswered,
		BufferPool:     h.buffers,
		ErrorLog:       log.New(h.errors, "", 0),
	}
}

// chooser sends what asks for an upgrade over connections that can be upgraded.
type chooser struct{ ordinary, upgrades http.RoundTripper }

func (c chooser) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, upgrade := req.Header["Upgrade"]; upgrade {
		return c.upgrades.RoundTrip(withKubelets(req))
	}
	return c.ordinary.RoundTrip(req)
}

// withKubelets has the request's stream know what is below its connection to the kubelet.
func withKubelets(req *http.Request) *http.Request {
	s, _ := req.Context().Value(streamKey{}).(*stream)
	if s == nil {
		return req
	}
	return req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) { s.kubelets = wireOf(got.Conn) },
	}))
}

// forward passes a request on that may be.
func (h *Handler) forward(x *exchange, req *http.Request) {
	if x.mapping.Streams {
		req = x.lasts(req)
	}
	h.reverse.ServeHTTP(x, req)
	if x.joined {
		return
	}
	// The kubelet may have ended its answer because it was cut off. What the client has
	// must not look whole.
	if x.stream != nil && x.stream.cause() != "" && x.line.Status >= http.StatusOK &&
		x.line.Status < http.StatusBadRequest {
		panic(http.ErrAbortHandler)
	}
}

// rewrite aims a request at the kubelet. Path and query stay as they were decided
// on.
func (h *Handler) rewrite(r *httputil.ProxyRequest) {
	out := r.Out
	out.URL.Scheme, out.URL.Host, out.Host = "https", h.config.Kubelet, ""
	out.Trailer = nil
	withhold(out.Header)
}

// checkAnswer refuses answers that would send the caller, or its credentials,
// elsewhere. One that switches protocols is not for the reverse proxy.
func checkAnswer(answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		return errRefused
	case http.StatusSwitchingProtocols:
		return join(answer)
	}
	return checkRedirect(answer)
}

// unanswered is what the caller reads when the kubelet's answer does not come, or
// is not passed on.
func (h *Handler) unanswered(w http.ResponseWriter, req *http.Request, err error) {
	if errors.Is(err, errJoined) {
		return
	}
	reason, failed := failure(err)
	h.measures.failures.WithLabelValues(reason).Inc()
	if reason != "canceled" && reason != "ended" {
		h.errors.tell(err)
	}
	x, ok := w.(*exchange)
	if ok {
		x.line.Cause = err.Error()
		if reason == "redirect" {
			x.line.Rule, x.line.Decision = string(failed.Rule), failed.decision()
		}
	}
	failed.write(w, req)
}

func failure(err error) (reason string, failed *reply) {
	var timeout net.Error
	switch {
	case errors.Is(err, errRedirect):
		return "redirect", deny(http.StatusBadGateway, kubeletauth.RuleRedirect, "Bad gateway: "+errRedirect.Error())
	case errors.Is(err, errRefused):
		return "unauthorized", plain(http.StatusBadGateway, "Bad gateway: "+errRefused.Error())
	case isOurs(err):
		return "ended", plain(http.StatusServiceUnavailable, "Service unavailable: "+err.Error())
	case errors.Is(err, context.Canceled):
		return "canceled", plain(http.StatusBadGateway, "Bad gateway: the request was given up")
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout", plain(http.StatusGatewayTimeout, "Gateway timeout: the kubelet did not answer in time")
	default:
		return "unreachable", plain(http.StatusBadGateway, "Bad gateway: the kubelet cannot be reached")
	}
}

// plain is an answer that no rule gave.
func plain(status int, text string) *reply {
	return &reply{Decision: rules.Decision{Effect: rules.NoOpinion, Code: status, Message: text}}
}
