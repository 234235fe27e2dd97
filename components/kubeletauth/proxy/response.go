// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Decisions in audit events and metrics.
const (
	allowed = "allow"
	denied  = "deny"
	// undecided means that there was no decision.
	undecided = "error"
)

// response is an answer of the proxy: a denial, or NoOpinion if there was no decision.
type response struct {
	rules.Decision
	// cause is the cause for the audit event, if it contains more than the reason.
	cause string
	// after is the wait before a retry, with status 429.
	after time.Duration
	// last closes the connection, because the next bytes are, or may be, an unread body.
	last bool
}

func deny(status int, rule rules.ID, text string) *response {
	return &response{Decision: rules.Decision{Rule: rule, Code: status, Message: text}}
}

func overLimit(what string) *response {
	return deny(http.StatusTooManyRequests, kubeletauth.RuleLimit, "Too many requests: "+what)
}

func malformed(status int, text string) *response {
	r := deny(status, kubeletauth.RuleLimit, text)
	r.last = true
	return r
}

// decision is the decision in audit events and metrics.
func (r *response) decision() string {
	if r.Effect == rules.NoOpinion {
		return undecided
	}
	return denied
}

func (r *response) write(w http.ResponseWriter, req *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Code == http.StatusTooManyRequests {
		header.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(r.after.Seconds())))))
	}
	// In HTTP/2, only the stream ends, because other requests share the connection.
	if r.last && req.ProtoMajor == 1 {
		header.Set("Connection", "close")
		// Without a deadline, net/http would read more of the body before it closes the connection.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
	w.WriteHeader(r.Code)
	_, _ = io.WriteString(w, webhook.Presentable(r.Reason())+"\n") //nolint:gosec // plain text with nosniff
}

// forbidden returns a denial with the kubelet's text.
func forbidden(rule rules.ID, user string, attempts []kubeletauth.Attributes) *response {
	subresources := make([]string, len(attempts))
	for i, attempt := range attempts {
		subresources[i] = attempt.Subresource
	}
	return deny(http.StatusForbidden, rule,
		fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)", webhook.Loggable(user),
			attempts[0].Verb, subresources))
}

// noDecision returns the answer for an authorizer's error, with the kubelet's text.
func noDecision(user string, attempt kubeletauth.Attributes, err error) *response {
	r := deny(http.StatusInternalServerError, kubeletauth.RuleDecision,
		fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s)", webhook.Loggable(user),
			attempt.Verb, attempt.Subresource))
	r.Effect, r.cause = rules.NoOpinion, err.Error()
	return r
}

const protocolHeader = "Sec-Websocket-Protocol"

// withheld are headers that never reach the kubelet, because they prove or claim an identity or an
// address.
var withheld = [...]string{"Authorization", "Cookie", "Expect", "Forwarded", "Proxy-Authorization", "X-Real-Ip"}

// withheldPrefixes are prefixes of further such headers.
var withheldPrefixes = [...]string{"Impersonate-", "X-Remote-", "X-Forwarded-"}

// withhold removes the headers that the kubelet must not see. Header names are in canonical form,
// because net/http rejects others.
func withhold(header http.Header) {
	for _, name := range withheld {
		delete(header, name)
	}
	for name := range header {
		for _, prefix := range withheldPrefixes {
			if strings.HasPrefix(name, prefix) {
				delete(header, name)
			}
		}
	}
	authn.RemoveCredentials(header)
}
