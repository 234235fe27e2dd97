// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import "net/http"

// unreadable is the reason why a request could not be decided. It is a metric label.
type unreadable string

const (
	// notAReview: the request has another method or content type.
	notAReview unreadable = "not-a-review"
	// brokenOff: the body ended early.
	brokenOff unreadable = "broken-off"
	// undecodable: the body is not an AdmissionReview v1.
	undecodable unreadable = "undecodable"
	// noUID: the review cannot be read, because it is too large or memory is short, and its first
	// bytes contain no uid. Without a uid, no AdmissionReview can answer it.
	noUID unreadable = "no-uid"
)

// unreadable counts a request that is answered with a 4xx, and logs one line, up to the rate limit.
// The line contains nothing of the body, not even the decoder's error: the body may contain a
// secret.
func (h *Handler) unreadable(req *http.Request, result unreadable) {
	h.metrics.unread.WithLabelValues(string(result)).Inc()
	if !h.lines.Admit("") {
		return
	}
	size := req.ContentLength
	h.lines.Put(func() {
		h.config.Logger.Info("Not a review that can be read", "result", string(result), "contentLength", size)
	})
}
