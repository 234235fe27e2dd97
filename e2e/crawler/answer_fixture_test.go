// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"net/http"
	"slices"
	"strings"
)

// verdict classifies an answer.
type verdict string

const (
	// succeeded: the request was executed, or a dry run would have executed it. It includes the API
	// server's answer 400 to a caller who may open a stream and does not request the upgrade.
	succeeded verdict = "succeeded"
	// passed: the request was not denied, but it would have no effect. The object conflicts or is
	// invalid, the container does not exist, or no server listens behind the proxy. An invalid
	// write may not have reached all of admission, which might still reject it.
	passed verdict = "passed"
	// refused: 401 or 403.
	refused verdict = "refused"
	// missing: 404 or 405 of the API server. A caller with the right to get an object that does not
	// exist receives it. So does every caller who requests a path that does not exist.
	missing verdict = "missing"
	// undecided: too many requests, or a failure.
	undecided verdict = "undecided"
)

var verdicts = []verdict{succeeded, passed, refused, missing, undecided}

// answer is the result of an attempt.
type answer struct {
	Credential *credential
	attempt
	Code    int
	Message string
	Verdict verdict
}

// judge returns the verdict for a status. A kubelet authorizes the caller before any other check,
// and so does the API server on the way to a kubelet. For those, every answer other than a denial
// proves a right.
func judge(a attempt, code int, message string) verdict {
	switch {
	case code == 0, code == http.StatusTooManyRequests:
		return undecided
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		if isBusy(message) {
			return undecided
		}
		return refused
	case a.Route == byPort && code < http.StatusInternalServerError && strings.Contains(message, "[KA-"):
		// kubelet-auth-proxy also rejects requests with other status codes.
		return refused
	case code < http.StatusBadRequest, code == http.StatusBadRequest && a.opensStream():
		return succeeded
	case code >= http.StatusInternalServerError && !allowedByAPIServer(a, message):
		return undecided
	case a.Route == byPort, a.Route == byProxy:
		return passed
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		return missing
	}
	return passed
}

// isBusy reports whether Bulkhead denied the request because of a limit or because it is not ready.
// Such a denial does not depend on rights.
func isBusy(message string) bool {
	return slices.ContainsFunc([]string{"[NA-LIMIT]", "[NR-LIMIT]", "[NS-LIMIT]", "[NA-UNREADY]", "[NS-UNREADY]"},
		func(rule string) bool { return strings.Contains(message, rule) })
}

// allowedByAPIServer reports whether the API server allowed a proxy request that then reached no
// server. A stream to a pod without a node is such a request, too.
func allowedByAPIServer(a attempt, message string) bool {
	return (a.Route == byProxy || a.opensStream()) && slices.ContainsFunc(
		[]string{"error trying to reach service", "no endpoints available", "dial tcp", "does not have a host assigned"},
		func(text string) bool { return strings.Contains(message, text) })
}
