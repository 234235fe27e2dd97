// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import "net/http"

// unreadable is why a request could not be decided on. It is a label of a metric.
type unreadable string

const (
	// notAReview has another method or content type.
	notAReview unreadable = "not-a-review"
	// brokenOff did not come to its end.
	brokenOff unreadable = "broken-off"
	// undecodable is no AdmissionReview v1.
	undecodable unreadable = "undecodable"
	// noUID is too large to be read, and says at its start nobody to answer.
	noUID unreadable = "no-uid"
)

// unreadable counts what is answered with a 4xx, and puts a line in the log unless
// there are too many. Nothing of the content is in it, not even in the words of a
// decoder: nobody knows whose secret it is.
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
