// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	// errRejected means that the kubelet does not trust the proxy's client certificate.
	errRejected = errors.New("the kubelet does not accept the proxy's client certificate")
	// errRedirect means that the kubelet answered with a redirect that the proxy does not forward.
	errRedirect = errors.New("the kubelet answered with a redirect")
)

// newReverse configures the standard library's reverse proxy. The one in
// k8s.io/apimachinery/pkg/util/proxy cannot check an answer before it forwards it.
func (h *Handler) newReverse() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        h.rewrite,
		Transport:      h.config.Transport,
		ModifyResponse: checkAnswer,
		ErrorHandler:   h.failed,
		ErrorLog:       log.New(h.errors, "", 0),
	}
}

type requestKey struct{}

// forward sends an allowed request to the kubelet.
func (h *Handler) forward(rc *requestContext, req *http.Request) {
	if rc.mapping.Streams {
		req = rc.startStream(req)
	}
	h.reverse.ServeHTTP(rc, req.WithContext(context.WithValue(req.Context(), requestKey{}, rc)))
	// When the proxy ends a stream, the kubelet may end its answer. The client must see that
	// the answer is incomplete.
	if rc.stream != nil && rc.stream.cause() != "" && rc.event.Status >= http.StatusOK &&
		rc.event.Status < http.StatusBadRequest {
		panic(http.ErrAbortHandler)
	}
}

// rewrite changes the destination of the request to the kubelet. Path and query stay as they were
// when the request was decided.
func (h *Handler) rewrite(r *httputil.ProxyRequest) {
	out := r.Out
	out.URL.Scheme, out.URL.Host, out.Host = "https", h.config.Kubelet, ""
	out.Trailer = nil
	withhold(out.Header)
}

// checkAnswer rejects answers that would send the client, or its credentials, to another place. It
// also rejects upgrades that the client did not request.
func checkAnswer(answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		return errRejected
	case http.StatusSwitchingProtocols:
		rc, _ := answer.Request.Context().Value(requestKey{}).(*requestContext)
		return checkSwitch(answer, rc)
	}
	return checkRedirect(answer)
}

// checkRedirect allows only redirects to the same place. The owner of a node could make the
// kubelet redirect the API server, with its credentials, to another node (CVE-2020-8559).
// The kubelet itself redirects only to another spelling of the path: /logs to /logs/,
// /logs/pods to /logs/pods/, and a file from its path with a slash (net/http ServeMux and
// FileServer). A client that follows such a redirect makes a new request, which the proxy
// decides again.
func checkRedirect(answer *http.Response) error {
	if answer.StatusCode < 300 || answer.StatusCode > 399 || answer.StatusCode == http.StatusNotModified {
		return nil
	}
	if _, upgrade := answer.Request.Header["Upgrade"]; upgrade ||
		!samePlace(answer.Request.URL, answer.Header["Location"]) {
		return errRedirect
	}
	return nil
}

// samePlace reports whether there is exactly one location, without a host for every parser, whose
// path differs from from only at the end: by a slash, or by index.html. Browsers read a backslash
// as a slash.
func samePlace(from *url.URL, locations []string) bool {
	if len(locations) != 1 {
		return false
	}
	location := locations[0]
	if location == "" || strings.HasPrefix(location, "//") || strings.ContainsAny(location, "\\\t\r\n") {
		return false
	}
	to, err := url.Parse(location)
	if err != nil || to.Scheme != "" || to.Host != "" || to.User != nil || to.Opaque != "" || to.Fragment != "" ||
		to.RawQuery != "" && to.RawQuery != from.RawQuery {
		return false
	}
	before, after := from.EscapedPath(), from.ResolveReference(to).EscapedPath()
	if directory, file := path.Split(before); file == "index.html" && after == directory {
		return true
	}
	return after != before && strings.TrimSuffix(after, "/") == strings.TrimSuffix(before, "/")
}

// failed answers the client if the kubelet did not answer, or if its answer must not be forwarded.
// After an upgrade it sends no answer.
func (h *Handler) failed(w http.ResponseWriter, req *http.Request, err error) {
	reason, failed := failure(err)
	h.metrics.failures.WithLabelValues(reason).Inc()
	if reason != "canceled" && reason != "ended" {
		h.errors.log("The kubelet's answer was not forwarded", err.Error())
	}
	if rc, ok := w.(*requestContext); ok {
		rc.event.Cause = err.Error()
		if reason == "redirect" {
			rc.event.Rule, rc.event.Decision = string(failed.Rule), failed.decision()
		}
		if rc.hijacked {
			return
		}
	}
	failed.write(w, req)
}

func failure(err error) (reason string, failed *response) {
	var timeout net.Error
	switch {
	case errors.Is(err, errRedirect):
		return "redirect", deny(http.StatusBadGateway, kubeletauth.RuleRedirect, "Bad gateway: "+errRedirect.Error())
	case errors.Is(err, errRejected):
		return "unauthorized", plain(http.StatusBadGateway, "Bad gateway: "+errRejected.Error())
	case endedByProxy(err):
		return "ended", plain(http.StatusServiceUnavailable, "Service unavailable: "+err.Error())
	case errors.Is(err, context.Canceled):
		return "canceled", plain(http.StatusBadGateway, "Bad gateway: the client canceled the request")
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout", plain(http.StatusGatewayTimeout, "Gateway timeout: the kubelet did not answer in time")
	default:
		return "unreachable", plain(http.StatusBadGateway, "Bad gateway: the kubelet cannot be reached")
	}
}

// plain returns an answer that no rule caused.
func plain(status int, text string) *response {
	return &response{Decision: rules.Decision{Effect: rules.NoOpinion, Code: status, Message: text}}
}

// ratelimitedLog logs errors between the proxy and the kubelet. Clients can cause such errors, so
// only a few lines a second are written.
type ratelimitedLog struct {
	logger  klog.Logger
	limiter *rate.Limiter
}

func newRatelimitedLog(logger klog.Logger) *ratelimitedLog {
	return &ratelimitedLog{logger: logger, limiter: rate.NewLimiter(1, 10)}
}

// Write logs a line of the reverse proxy.
func (l *ratelimitedLog) Write(line []byte) (int, error) {
	l.log("Forwarding failed", strings.TrimSpace(string(line)))
	return len(line), nil
}

func (l *ratelimitedLog) log(text, err string) {
	if l.limiter.Allow() {
		l.logger.Info(text, "error", webhook.Loggable(err))
	}
}
