// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authentication

import (
	"errors"
	"net/http"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Refusal is why a request is nobody's.
type Refusal struct {
	Rule rules.ID
	// Status is 401, or 429 if a limit is the reason.
	Status int
	// Reason is for the caller, and ends in the rule.
	Reason string
	// RetryAfter is how long to wait with status 429.
	RetryAfter time.Duration
	// final refuses the request whatever else is shown.
	final bool
	cause error
}

// Error is the reason with its cause, fit for a line in the log: printable, bounded,
// and without a token.
func (r *Refusal) Error() string {
	if r.cause == nil {
		return r.Reason
	}
	return r.Reason + ": " + webhook.Loggable(r.cause.Error())
}

// Unwrap is the cause, if there is one.
func (r *Refusal) Unwrap() error { return r.cause }

// refuse is a refusal of a credential. The kubelet's word for all of them is
// Unauthorized.
func refuse(rule rules.ID, text string, cause error) *Refusal {
	return &Refusal{Rule: rule, Status: http.StatusUnauthorized, Reason: rules.Rule{ID: rule}.Reason("Unauthorized: " + text), cause: cause}
}

func limited(text string, after time.Duration, cause error) *Refusal {
	r := refuse(kubeletauth.RuleLimit, text, cause)
	r.Status, r.RetryAfter = http.StatusTooManyRequests, after
	r.Reason = rules.Rule{ID: r.Rule}.Reason("Too many requests: " + text)
	return r
}

// refusalOf finds the refusal in what an authenticator returned, or makes it one.
func refusalOf(err error) *Refusal {
	if refusal := find(err); refusal != nil {
		return refusal
	}
	r := refuse(kubeletauth.RuleAuthenticated, "", err)
	r.Reason = rules.Rule{ID: r.Rule}.Reason("Unauthorized")
	return r
}

// find looks into errors made of several, aggregates too, which errors.As does not. A
// refusal that is about a limit goes first, as it may pass.
func find(err error) *Refusal {
	var found *Refusal
	walk(err, func(err error) {
		if next, ok := err.(*Refusal); ok && (found == nil || next.Status == http.StatusTooManyRequests) { //nolint:errorlint // walk unwraps
			found = next
		}
	})
	return found
}

// walk visits an error and all that it is made of.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch err := err.(type) { //nolint:errorlint // this is what unwraps
	case utilerrors.Aggregate:
		for _, part := range err.Errors() {
			walk(part, visit)
		}
	case interface{ Unwrap() []error }:
		for _, part := range err.Unwrap() {
			walk(part, visit)
		}
	default:
		walk(errors.Unwrap(err), visit)
	}
}
