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

	// maxRequirements bounds the selector requirements of one review. kubelets
	// send one or two.
	maxRequirements = 1000
)

// review is the part of a SubjectAccessReview that is read. Its metadata and
// status are not: they say nothing about the request.
type review struct {
	APIVersion string                                   `json:"apiVersion"`
	Kind       string                                   `json:"kind"`
	Spec       *authorizationv1.SubjectAccessReviewSpec `json:"spec"`
}

// decodeReview reads one SubjectAccessReview v1 that asks for exactly one kind
// of attributes.
//
// Names are matched by case, and a name that occurs twice is refused, so that no
// two readers can see different reviews in the same bytes. Unknown fields are
// passed over, because newer servers add some. Nesting is bounded by the decoder.
// The result shares no memory with data.
func decodeReview(data []byte) (*authorizationv1.SubjectAccessReviewSpec, error) {
	if spec, ok := readQuickly(data); ok {
		return spec, nil
	}
	return decodeAny(data)
}

// decodeAny knows every form of a review.
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
