// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/component-base/metrics"
)

// recorder counts credentials by kind and outcome, and findings.
type recorder struct {
	attempts *metrics.CounterVec
	audited  *metrics.Counter
}

func newRecorder(registry metrics.KubeRegistry) *recorder {
	r := &recorder{
		attempts: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_kubelet_authentications_total",
			Help: "Credentials looked at, by method (certificate, token, anonymous) and result (accepted, rejected, limited).",
		}, []string{"method", "result"}),
		audited: metrics.NewCounter(&metrics.CounterOpts{
			Name: "bulkhead_kubelet_audited_audiences_total",
			Help: "Requests accepted with a token for the API server, which rule KA-AUD-1 would refuse if it were enforced.",
		}),
	}
	registry.MustRegister(r.attempts, r.audited)
	return r
}

// counted counts the results of an authenticator.
type counted struct {
	next                        authenticator.Request
	accepted, rejected, limited metrics.CounterMetric
}

func (r *recorder) count(method string, next authenticator.Request) authenticator.Request {
	return &counted{
		next:     next,
		accepted: r.attempts.WithLabelValues(method, "accepted"),
		rejected: r.attempts.WithLabelValues(method, "rejected"),
		limited:  r.attempts.WithLabelValues(method, "limited"),
	}
}

func (c *counted) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	response, ok, err := c.next.AuthenticateRequest(req)
	switch {
	case err != nil && deniedOf(err).Code == http.StatusTooManyRequests:
		c.limited.Inc()
	case err != nil:
		c.rejected.Inc()
	case ok:
		c.accepted.Inc()
	}
	return response, ok, err
}
