// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
)

// Review asks the API server for the authorizers' decision about the request. The review has the
// same attributes as the request.
func (c *Cluster) Review(ctx context.Context, who *Identity, r Request) (authorizationv1.SubjectAccessReviewStatus,
	error) {
	review, err := ReviewOf(who, r)
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, err
	}
	review, err = c.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, fmt.Errorf("reviewing %s: %w", r, err)
	}
	return review.Status, nil
}

// ReviewOf returns the review that asks whether who may make the request.
func ReviewOf(who *Identity, r Request) (*authorizationv1.SubjectAccessReview, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.User, Groups: who.Groups,
	}}
	for key, values := range who.Extra {
		if review.Spec.Extra == nil {
			review.Spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		review.Spec.Extra[key] = values
	}
	if r.Path != "" {
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: r.Verb, Path: r.Path}
		return review, nil
	}
	attributes, err := r.attributes()
	review.Spec.ResourceAttributes = attributes
	return review, err
}

// attributes computes the attributes as the API server does. A field selector by name becomes the
// name. The old watch path has no selectors.
func (r Request) attributes() (*authorizationv1.ResourceAttributes, error) {
	attributes := &authorizationv1.ResourceAttributes{
		Verb: r.Verb, Namespace: r.Namespace, Name: r.Name,
		Group: r.Resource.Group, Version: r.Resource.Version,
		Resource: r.Resource.Resource, Subresource: r.Subresource,
	}
	if r.Verb == "create" && r.Subresource == "" {
		attributes.Name = ""
	}
	if r.Label != "" && !r.legacyWatch {
		key, value, _ := strings.Cut(r.Label, "=")
		attributes.LabelSelector = &authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{
			{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}},
		}}
	}
	if r.Selector == "" {
		return attributes, nil
	}
	selector, err := fields.ParseSelector(r.Selector)
	if err != nil {
		return nil, fmt.Errorf("parsing %q: %w", r.Selector, err)
	}
	if name, ok := selector.RequiresExactMatch("metadata.name"); ok {
		attributes.Name = name
	}
	if !r.legacyWatch {
		attributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{Requirements: requirements(selector)}
	}
	return attributes, nil
}

func requirements(selector fields.Selector) []metav1.FieldSelectorRequirement {
	var all []metav1.FieldSelectorRequirement
	for _, r := range selector.Requirements() {
		operator := metav1.FieldSelectorOpIn
		if r.Operator == selection.NotEquals {
			operator = metav1.FieldSelectorOpNotIn
		}
		all = append(all, metav1.FieldSelectorRequirement{Key: r.Field, Operator: operator, Values: []string{r.Value}})
	}
	return all
}
