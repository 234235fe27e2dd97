// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
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

// refusal is an answer that is not the kubelet's.
type refusal struct {
	status   int
	rule     rules.ID
	decision string
	// text is what the caller reads.
	text string
	// cause is for the audit line, if it says more than text.
	cause string
	// after is when to try again, with status 429.
	after time.Duration
	// last has the connection end: what follows on it is a body that is not read, or
	// cannot be told from one.
	last bool
}

func refuse(status int, rule rules.ID, text string) *refusal {
	return &refusal{status: status, rule: rule, decision: denied, text: rules.Rule{ID: rule}.Reason(text)}
}

func overLimit(what string) *refusal {
	return refuse(http.StatusTooManyRequests, kubeletauth.RuleLimit, "Too many requests: "+what)
}

func misshapen(status int, text string) *refusal {
	r := refuse(status, kubeletauth.RuleLimit, text)
	r.last = true
	return r
}

func (r *refusal) write(w http.ResponseWriter, req *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.status == http.StatusTooManyRequests {
		header.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(r.after.Seconds())))))
	}
	// On HTTP/2 a stream ends by itself, and others share the connection.
	if r.last && req.ProtoMajor == 1 {
		header.Set("Connection", "close")
		// Before it closes a connection, net/http reads on for as long as it takes.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, webhook.Presentable(r.text)+"\n") //nolint:gosec // plain text, and not to be taken for anything else
}

// forbidden is the kubelet's text.
func forbidden(rule rules.ID, user string, attempts []kubeletauth.Attributes) *refusal {
	subresources := make([]string, len(attempts))
	for i, attempt := range attempts {
		subresources[i] = attempt.Subresource
	}
	return refuse(http.StatusForbidden, rule,
		fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)", webhook.Loggable(user), attempts[0].Verb, subresources))
}

// noDecision is the kubelet's text for an authorizer that could not answer.
func noDecision(user string, attempt kubeletauth.Attributes, err error) *refusal {
	r := refuse(http.StatusInternalServerError, kubeletauth.RuleDecision,
		fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s)", webhook.Loggable(user), attempt.Verb, attempt.Subresource))
	r.decision, r.cause = undecided, err.Error()
	return r
}
