// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"net/http"
	"slices"
	"strings"
)

// verdict is what an answer means.
type verdict string

const (
	// succeeded: what was asked for was given, or would have been done. The API server
	// answers 400 to who may open a stream and does not ask for the upgrade: that is one,
	// too.
	succeeded verdict = "succeeded"
	// passed: nobody refused it, and nothing would have come of it. The object conflicts or
	// is not valid, the container does not exist, nobody listens behind the proxy. A write
	// that is not valid may not have been asked about at admission: it might still be
	// refused if it were.
	passed verdict = "passed"
	// refused: 401, or 403.
	refused verdict = "refused"
	// missing: 404 and 405 of the API server. Who may get what does not exist hears that,
	// and so does whoever asks for a path that is not there.
	missing verdict = "missing"
	// undecided: too many requests, or a fault.
	undecided verdict = "undecided"
)

var verdicts = []verdict{succeeded, passed, refused, missing, undecided}

// answer is what came of an attempt.
type answer struct {
	Credential *credential
	attempt
	Code    int
	Message string
	Verdict verdict
}

// judge says what a status means. A kubelet, and the API server on the way to one, ask
// what the caller may before they look at anything else: there, every answer but a refusal
// shows a right.
func judge(a attempt, code int, message string) verdict {
	switch {
	case code == 0, code == http.StatusTooManyRequests:
		return undecided
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		if isBusy(message) {
			return undecided
		}
		return refused
	case a.Road == byPort && code < http.StatusInternalServerError && strings.Contains(message, "[KA-"):
		// kubelet-auth-proxy says no in more ways than one.
		return refused
	case code < http.StatusBadRequest, code == http.StatusBadRequest && a.opensStream():
		return succeeded
	case code >= http.StatusInternalServerError && !wentThrough(a, message):
		return undecided
	case a.Road == byPort, a.Road == byProxy:
		return passed
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		return missing
	}
	return passed
}

// isBusy is true for refusals of ours that say nothing of rights.
func isBusy(message string) bool {
	return slices.ContainsFunc([]string{"[NA-LIMIT]", "[NR-LIMIT]", "[NS-LIMIT]", "[NA-UNREADY]", "[NS-UNREADY]"},
		func(rule string) bool { return strings.Contains(message, rule) })
}

// wentThrough is true for what the API server says when it has let somebody through a
// proxy, behind which there is nobody. To open a stream to a pod that has no node is such a
// way, too.
func wentThrough(a attempt, message string) bool {
	return (a.Road == byProxy || a.opensStream()) && slices.ContainsFunc(
		[]string{"error trying to reach service", "no endpoints available", "dial tcp", "does not have a host assigned"},
		func(text string) bool { return strings.Contains(message, text) })
}
