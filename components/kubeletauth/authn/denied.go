// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"errors"
	"net/http"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Denied is a denial as an error, which is how the authenticators of k8s.io/apiserver pass
// it on. The code is 401, or 429 if a limit is the reason.
type Denied struct {
	rules.Decision
	// RetryAfter is how long to wait with code 429.
	RetryAfter time.Duration
	// final means that the request is denied, whatever other credentials it has.
	final bool
	cause error
}

// Error returns the reason with its cause. The text is safe for a log line: printable, bounded, and
// without a token.
func (r *Denied) Error() string {
	if r.cause == nil {
		return r.Reason()
	}
	return r.Reason() + ": " + webhook.Loggable(r.cause.Error())
}

// Unwrap returns the cause, or nil.
func (r *Denied) Unwrap() error { return r.cause }

// deny returns the denial of a credential. The client gets the kubelet's text, Unauthorized, for
// all of them.
func deny(rule rules.ID, text string, cause error) *Denied {
	return &Denied{Decision: rules.Decision{Rule: rule, Code: http.StatusUnauthorized, Message: "Unauthorized: " + text},
		cause: cause}
}

func limited(text string, after time.Duration, cause error) *Denied {
	r := deny(kubeletauth.RuleLimit, text, cause)
	r.Code, r.RetryAfter, r.Message = http.StatusTooManyRequests, after, "Too many requests: "+text
	return r
}

// deniedOf returns the denial in an authenticator's error, or makes one from the error.
func deniedOf(err error) *Denied {
	if refusal := find(err); refusal != nil {
		return refusal
	}
	r := deny(kubeletauth.RuleAuthenticated, "", err)
	r.Message = "Unauthorized"
	return r
}

// find searches an error that consists of several errors, including aggregates, which errors.As
// does not search. It prefers a denial because of a limit, because a retry may succeed.
func find(err error) *Denied {
	var found *Denied
	walk(err, func(err error) {
		next, ok := err.(*Denied) //nolint:errorlint // walk unwraps
		if ok && (found == nil || next.Code == http.StatusTooManyRequests) {
			found = next
		}
	})
	return found
}

// walk calls visit for an error and for all errors that it contains.
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
