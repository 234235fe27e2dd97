// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/json"
)

const (
	apiVersion = "authorization.k8s.io/v1"
	kind       = "SubjectAccessReview"

	// maxRequirements bounds the selector requirements of one review. kubelets send one or two.
	maxRequirements = 1000
)

// review is the part of a SubjectAccessReview that is decoded. Metadata and status contain nothing
// about the request.
type review struct {
	APIVersion string                                   `json:"apiVersion"`
	Kind       string                                   `json:"kind"`
	Spec       *authorizationv1.SubjectAccessReviewSpec `json:"spec"`
}

// decodeReview decodes one SubjectAccessReview v1 with exactly one kind of attributes.
//
// Field names are case-sensitive, and a duplicate field is an error. So two readers cannot see
// different reviews in the same bytes. Unknown fields are ignored, because newer servers add some.
// The decoder bounds the nesting. The result shares no memory with data.
func decodeReview(data []byte) (*authorizationv1.SubjectAccessReviewSpec, error) {
	if spec, ok := readQuickly(data); ok {
		return spec, nil
	}
	return decodeAny(data)
}

// decodeAny decodes every form of a review.
func decodeAny(data []byte) (*authorizationv1.SubjectAccessReviewSpec, error) {
	var r review
	duplicates, err := json.UnmarshalStrict(data, &r, json.DisallowDuplicateFields)
	switch {
	case err != nil:
		return nil, fmt.Errorf("decoding the review: %w", err)
	case len(duplicates) > 0:
		return nil, fmt.Errorf("decoding the review: %w", duplicates[0])
	case r.APIVersion != apiVersion || r.Kind != kind:
		return nil, fmt.Errorf("want %s %s", apiVersion, kind)
	case r.Spec == nil:
		return nil, errors.New("spec is missing")
	}
	if (r.Spec.ResourceAttributes == nil) == (r.Spec.NonResourceAttributes == nil) {
		return nil, errors.New("want one of resourceAttributes and nonResourceAttributes")
	}
	return r.Spec, nil
}

func requirements(a *authorizationv1.ResourceAttributes) int {
	n := 0
	if a != nil && a.FieldSelector != nil {
		n += len(a.FieldSelector.Requirements)
	}
	if a != nil && a.LabelSelector != nil {
		n += len(a.LabelSelector.Requirements)
	}
	return n
}
