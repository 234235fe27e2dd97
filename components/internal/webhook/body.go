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

// maxKept is the size of the largest body whose memory is kept for another.
const maxKept = 256 << 10

// ErrTooLarge is that a body has more bytes than it may have.
var ErrTooLarge = errors.New("the body is too large")

// bodies are reused: one is read for every request of every node.
var bodies = sync.Pool{New: func() any { return new(Body) }}

// Body is a body that was read.
type Body struct{ buffer bytes.Buffer }

// ReadBody reads a body of at most so many bytes. Expected is how many there will
// be; 0 or less if that is not known. Of a body that is too large the first bytes
// are returned, beside [ErrTooLarge]; with every other error nothing is. What is
// returned has to be released.
func ReadBody(from io.Reader, expected, most int64) (*Body, error) {
	body, _ := bodies.Get().(*Body)
	body.buffer.Reset()
	if expected > 0 {
		// A buffer grows before it sees the end, unless there is that much room.
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

// Bytes are what was read. They must not be used after Release.
func (b *Body) Bytes() []byte { return b.buffer.Bytes() }

// Release gives the memory to another body, unless it is much.
func (b *Body) Release() {
	if b.buffer.Cap() <= maxKept {
		bodies.Put(b)
	}
}

// IsReview refuses what no API server sends as a review. It answers, and returns
// false, if it does.
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
