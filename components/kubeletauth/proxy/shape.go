// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	// maxBody bounds, in bytes, the body of a request. The longest body that a path of the
	// kubelet reads is a number (/debug/flags/v).
	maxBody = 16 << 10
	// bodyTimeout bounds the time to send the body.
	bodyTimeout = 10 * time.Second
)

// checkShape denies requests that no client of a kubelet sends. It uses only the headers, because
// the user is not known yet. upgrade is true if the client requests an upgrade in any form.
func checkShape(req *http.Request) (upgrade bool, refused *response) {
	protocol, refused := upgradeOf(req.Header)
	upgrade = protocol != "" || refused != nil
	return upgrade, cmp.Or(checkBody(req), refused)
}

// checkBody denies a body that no path of the kubelet reads.
func checkBody(req *http.Request) *response {
	// An attacker can hide a request in the body of another if length and encoding contradict each
	// other (RFC 9112 section 11.2). net/http drops the length in this case, so every encoding is
	// rejected.
	if len(req.TransferEncoding) > 0 || req.ContentLength < 0 {
		return malformed(http.StatusLengthRequired,
			"Length required: the body must have a Content-Length and no Transfer-Encoding")
	}
	if req.ContentLength > maxBody {
		return malformed(http.StatusRequestEntityTooLarge, "Request entity too large")
	}
	// A body in such a request has no meaning (RFC 9110 section 9.3.1).
	if req.ContentLength > 0 && (req.Method == http.MethodGet || req.Method == http.MethodHead) {
		return malformed(http.StatusBadRequest, "Bad request: GET and HEAD have no body")
	}
	return nil
}

// upgradeOf returns the protocol of an upgrade. It accepts only the kubelet's protocols, and only
// in one unambiguous form: if one parser of the headers sees an upgrade, all parsers must.
func upgradeOf(header http.Header) (string, *response) {
	asked, values := header["Connection"], header["Upgrade"]
	if len(asked) == 0 && len(values) == 0 {
		return "", nil
	}
	token := httpguts.HeaderValuesContainsToken(asked, "Upgrade")
	if !token && len(values) == 0 && !mentionsUpgrade(asked) {
		return "", nil
	}
	if token && len(values) == 1 &&
		(strings.EqualFold(values[0], "SPDY/3.1") || strings.EqualFold(values[0], "websocket")) {
		return values[0], nil
	}
	return "", malformed(http.StatusBadRequest,
		"Bad request: an upgrade must be to SPDY/3.1 or websocket, with Connection: Upgrade")
}

// mentionsUpgrade is the same check as k8s.io/streaming's httpstream.IsUpgradeRequest.
func mentionsUpgrade(connection []string) bool {
	for _, value := range connection {
		if strings.Contains(strings.ToLower(value), "upgrade") {
			return true
		}
	}
	return false
}

// readBody reads the body of an allowed request, so that the forwarded body has its declared
// length. With [Config].AuditOnly, the length becomes that of the part that was read.
func (rc *requestContext) readBody(req *http.Request) *response {
	if req.ContentLength == 0 {
		req.Body = http.NoBody
		return nil
	}
	control := http.NewResponseController(rc.ResponseWriter)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{})
	if err != nil || int64(len(body)) != req.ContentLength {
		refused := malformed(http.StatusBadRequest, "Bad request: the body is shorter than its length, or came too slowly")
		// The kubelet reads no body that is longer, and answers without the rest of it.
		if !rc.handler.config.AuditOnly {
			return refused
		}
	}
	rc.in.Store(int64(len(body)))
	req.Body, req.ContentLength, req.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return nil
}
