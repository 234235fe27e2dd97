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
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Decisions, as audit lines and metrics call them.
const (
	allowed = "allow"
	denied  = "deny"
	// undecided is when nobody could say.
	undecided = "error"
)

// reply is an answer that is not the kubelet's: a denial, or no opinion where nobody could
// say.
type response struct {
	rules.Decision
	// cause is for the audit line, if it says more than the reason.
	cause string
	// after is when to try again, with status 429.
	after time.Duration
	// last has the connection end: what follows on it is a body that is not read, or
	// cannot be told from one.
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

// decision is the word for it in audit lines and metrics.
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
	// On HTTP/2 a stream ends by itself, and others share the connection.
	if r.last && req.ProtoMajor == 1 {
		header.Set("Connection", "close")
		// Before it closes a connection, net/http reads on for as long as it takes.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
	w.WriteHeader(r.Code)
	_, _ = io.WriteString(w, webhook.Presentable(r.Reason())+"\n") //nolint:gosec // plain text, and not to be taken for anything else
}

// forbidden is the kubelet's text.
func forbidden(rule rules.ID, user string, attempts []kubeletauth.Attributes) *response {
	subresources := make([]string, len(attempts))
	for i, attempt := range attempts {
		subresources[i] = attempt.Subresource
	}
	return deny(http.StatusForbidden, rule,
		fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)", webhook.Loggable(user),
			attempts[0].Verb, subresources))
}

// noDecision is the kubelet's text for an authorizer that could not answer.
func noDecision(user string, attempt kubeletauth.Attributes, err error) *response {
	r := deny(http.StatusInternalServerError, kubeletauth.RuleDecision,
		fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s)", webhook.Loggable(user),
			attempt.Verb, attempt.Subresource))
	r.Effect, r.cause = rules.NoOpinion, err.Error()
	return r
}

const (
	protocolHeader = "Sec-Websocket-Protocol"
	// bearerProtocol begins the sub-protocol that carries a token
	// (k8s.io/apiserver/pkg/authentication/request/websocket).
	bearerProtocol = "base64url.bearer.authorization.k8s.io." //nolint:gosec // what tokens begin with is no token
)

// withheld are headers that never reach the kubelet: they prove or claim who asks,
// or where from. Rewriting a request makes them useless, not harmless.
var withheld = [...]string{"Authorization", "Cookie", "Expect", "Forwarded", "Proxy-Authorization", "X-Real-Ip"}

// withheldPrefixes begin more of them.
var withheldPrefixes = [...]string{"Impersonate-", "X-Remote-", "X-Forwarded-"}

// withhold removes from header what the kubelet must not see. Names are in their
// canonical form already: net/http refuses those that have none.
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
	if protocols, ok := header[protocolHeader]; ok {
		withholdTokens(header, protocols)
	}
}

// withholdTokens leaves the sub-protocols that carry no token.
func withholdTokens(header http.Header, values []string) {
	var left []string
	for _, value := range values {
		for protocol := range strings.SplitSeq(value, ",") {
			protocol = strings.TrimSpace(protocol)
			if !isBearerProtocol(protocol) && protocol != "" {
				left = append(left, protocol)
			}
		}
	}
	if len(left) == 0 {
		delete(header, protocolHeader)
		return
	}
	header[protocolHeader] = []string{strings.Join(left, ", ")}
}

func isBearerProtocol(protocol string) bool {
	return len(protocol) >= len(bearerProtocol) && strings.EqualFold(protocol[:len(bearerProtocol)], bearerProtocol)
}
