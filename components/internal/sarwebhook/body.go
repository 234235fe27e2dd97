// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"errors"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// maxBody bounds a review. A review of a kubelet's request has about 1 KiB. A URL of 1 MiB, the
// most that kube-apiserver reads, can make a review of 20 MiB.
const maxBody = 64 << 10

var errTooLarge = fmt.Errorf("a review of more than %d bytes", maxBody)

// read waits until it may read, and returns the review in the body.
func (h *Handler) read(req *http.Request) (*authorizationv1.SubjectAccessReviewSpec, error) {
	select {
	case h.reading <- struct{}{}:
		defer func() { <-h.reading }()
	case <-req.Context().Done():
		return nil, fmt.Errorf("waiting to read the review: %w", req.Context().Err())
	}
	body, err := webhook.ReadBody(req.Body, req.ContentLength, maxBody)
	if body != nil {
		defer body.Release()
	}
	switch {
	case errors.Is(err, webhook.ErrTooLarge):
		return nil, errTooLarge
	case err != nil:
		return nil, err
	}
	return decodeReview(body.Bytes())
}
