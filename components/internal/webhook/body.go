// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
)

// maxKept is the size of the largest body whose memory is reused.
const maxKept = 256 << 10

// ErrTooLarge means that a body has more bytes than allowed.
var ErrTooLarge = errors.New("the body is too large")

// bodies reuses memory, because every request of every node has a body.
var bodies = sync.Pool{New: func() any { return new(Body) }}

// Body is a request body in memory.
type Body struct{ buffer bytes.Buffer }

// ReadBody reads a body of at most most bytes. expected is the number of bytes, or 0 or less if it
// is unknown. If the body is too large, ReadBody returns its first bytes and [ErrTooLarge]. With
// every other error it returns nil. The caller must release every Body that it gets.
func ReadBody(from io.Reader, expected, most int64) (*Body, error) {
	body, _ := bodies.Get().(*Body)
	body.buffer.Reset()
	if expected > 0 {
		// A buffer grows before it sees the end of the body, unless it has bytes.MinRead free
		// bytes.
		body.buffer.Grow(int(min(expected, most)) + bytes.MinRead)
	}
	if _, err := body.buffer.ReadFrom(io.LimitReader(from, most+1)); err != nil {
		body.Release()
		return nil, fmt.Errorf("reading the review: %w", err)
	}
	if int64(body.buffer.Len()) > most {
		return body, ErrTooLarge
	}
	return body, nil
}

// Bytes returns the bytes of the body. They must not be used after Release.
func (b *Body) Bytes() []byte { return b.buffer.Bytes() }

// Release returns the memory for reuse, unless it is larger than maxKept.
func (b *Body) Release() {
	if b.buffer.Cap() <= maxKept {
		bodies.Put(b)
	}
}

// IsReview reports whether a request can be a review of an API server. If it cannot, IsReview
// answers the request and returns false.
func IsReview(w http.ResponseWriter, req *http.Request) bool {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "want POST", http.StatusMethodNotAllowed)
		return false
	}
	if !isJSON(req.Header.Get("Content-Type")) {
		http.Error(w, "want application/json", http.StatusUnsupportedMediaType)
		return false
	}
	return true
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == "application/json"
}
