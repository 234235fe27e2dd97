// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// maxBody bounds a review. A kubelet's has about 1 KiB; a URL of 1 MiB, the most
// that kube-apiserver reads, can make one of 20 MiB.
const maxBody = 64 << 10

var errTooLarge = fmt.Errorf("a review of more than %d bytes", maxBody)

// buffers are reused: a body is read for every request of every node.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// read waits for a turn and returns the review in the body.
func (h *Handler) read(req *http.Request) (*authorizationv1.SubjectAccessReviewSpec, error) {
	select {
	case h.reading <- struct{}{}:
		defer func() { <-h.reading }()
	case <-req.Context().Done():
		return nil, fmt.Errorf("waiting to read the review: %w", req.Context().Err())
	}
	buffer, _ := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buffer)
	buffer.Reset()
	if _, err := buffer.ReadFrom(io.LimitReader(req.Body, maxBody+1)); err != nil {
		return nil, fmt.Errorf("reading the review: %w", err)
	}
	if buffer.Len() > maxBody {
		return nil, errTooLarge
	}
	return decodeReview(buffer.Bytes())
}
