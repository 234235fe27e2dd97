// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	// maxBody bounds, in bytes, the body of a request. No path of the kubelet reads
	// more than a word (/debug/flags/v).
	maxBody = 16 << 10
	// bodyTimeout is how long a client may take to send one.
	bodyTimeout = 10 * time.Second
)

// checkShape refuses what no client of a kubelet sends. It goes by the headers alone:
// whose request it is, nobody knows yet.
func checkShape(req *http.Request) (upgrade bool, refused *response) {
	// A length and an encoding that contradict each other are how a request is hidden
	// in the body of another (RFC 9112 section 11.2). net/http drops the length then,
	// so all encodings are refused.
	if len(req.TransferEncoding) > 0 || req.ContentLength < 0 {
		return false, malformed(http.StatusLengthRequired,
			"Length required: the body has to have a Content-Length and no Transfer-Encoding")
	}
	if req.ContentLength > maxBody {
		return false, malformed(http.StatusRequestEntityTooLarge, "Request entity too large")
	}
	// It would mean nothing (RFC 9110 section 9.3.1).
	if req.ContentLength > 0 && (req.Method == http.MethodGet || req.Method == http.MethodHead) {
		return false, malformed(http.StatusBadRequest, "Bad request: GET and HEAD have no body")
	}
	protocol, refused := upgradeOf(req.Header)
	if refused != nil {
		return false, refused
	}
	return protocol != "", nil
}

// upgradeOf is the protocol that an upgrade is asked to. Only those that a kubelet
// has are known, and only asked for in one clear way: what one reader of the
// headers takes for an upgrade, all have to.
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
		"Bad request: an upgrade has to be to SPDY/3.1 or to websocket, with Connection: Upgrade")
}

// mentionsUpgrade is how k8s.io/streaming's httpstream.IsUpgradeRequest looks.
func mentionsUpgrade(connection []string) bool {
	for _, value := range connection {
		if strings.Contains(strings.ToLower(value), "upgrade") {
			return true
		}
	}
	return false
}

// readBody reads the body of a request that is let through, so that what goes on has
// the length that it says.
func (rc *requestContext) readBody(req *http.Request) *response {
	if req.ContentLength == 0 {
		req.Body = http.NoBody
		return nil
	}
	control := http.NewResponseController(rc.ResponseWriter)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body := make([]byte, req.ContentLength)
	if _, err := io.ReadFull(req.Body, body); err != nil {
		return malformed(http.StatusBadRequest, "Bad request: the body is shorter than its length, or came too slowly")
	}
	_ = control.SetReadDeadline(time.Time{})
	rc.in.Store(req.ContentLength)
	req.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
