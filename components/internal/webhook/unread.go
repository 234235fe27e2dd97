// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// maxHead is the number of bytes that are read of a review that is denied unread.
const maxHead = 4 << 10

// unreadable is the reason why a request could not be decided. It is a metric label.
type unreadable string

const (
	// notAReview: the request has another method or content type.
	notAReview unreadable = "not-a-review"
	// bodyEndedEarly: the body ended early.
	bodyEndedEarly unreadable = "broken-off"
	// undecodable: the body is not a review of the expected kind and version.
	undecodable unreadable = "undecodable"
	// noUID: the review cannot be read, because it is too large or memory is short, and its first
	// bytes contain no uid. Without a uid, no AdmissionReview can answer it.
	noUID unreadable = "no-uid"
)

var errNoUID = errors.New("no uid at the start of the review")

// reject answers 400 to a request that is not a review.
func (h *Handler[Q]) reject(w http.ResponseWriter, req *http.Request, result unreadable, err error) {
	h.unreadable(req, result)
	http.Error(w, err.Error(), http.StatusBadRequest)
}

// unreadable counts a request that is answered with a 4xx, and logs one line, up to the rate limit.
// The line contains nothing of the body, not even the decoder's error: the body may contain a
// secret.
func (h *Handler[Q]) unreadable(req *http.Request, result unreadable) {
	h.Metrics.unreadable.WithLabelValues(string(result)).Inc()
	if !h.lines.Admit("") {
		return
	}
	size := req.ContentLength
	h.lines.Put(func() {
		h.config.Logger.Info("Not a review that can be read", "result", string(result), "contentLength", size)
	})
}

// denyUnread denies a review of which only the first bytes are read.
func (h *Handler[Q]) denyUnread(w http.ResponseWriter, req *http.Request, over Excess) {
	head, err := ReadBody(req.Body, maxHead, maxHead)
	if head != nil {
		defer head.Release()
	}
	if err != nil && !errors.Is(err, ErrTooLarge) {
		h.reject(w, req, bodyEndedEarly, err)
		return
	}
	h.denyHead(w, req, head.Bytes(), over)
}

// denyHead denies a review that starts with head. The user is unknown.
func (h *Handler[Q]) denyHead(w http.ResponseWriter, req *http.Request, head []byte, over Excess) {
	q, ok := h.protocol.Unread(head[:min(len(head), maxHead)])
	if !ok {
		h.reject(w, req, noUID, errNoUID)
		return
	}
	text := over.Text()
	if over == TooLarge {
		text = fmt.Sprintf("a review of more than %d bytes", h.settings.MaxBody)
	}
	d := h.enforced(h.overLimit(over, text))
	h.Metrics.deniedUnread(d)
	h.logDecision(q, d)
	h.logFindings(q, "", d.Findings)
	h.write(w, q, d)
}

func (h *Handler[Q]) write(w http.ResponseWriter, q Q, d rules.Decision) {
	body, err := json.Marshal(h.protocol.Answer(q, d))
	if err != nil {
		// A struct of strings, numbers and booleans always has a JSON form.
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	// A write fails only if the caller has closed the connection.
	_, _ = w.Write(body)
}
