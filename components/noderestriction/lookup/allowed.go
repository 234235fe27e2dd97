// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// Allowed implements [noderestriction.Authorizer] with a SubjectAccessReview. The API server
// answers it with its own configured authorizers.
func (v *Cluster) Allowed(ctx context.Context, who user.Info, right noderestriction.Right) (bool, error) {
	if who == nil {
		return false, errors.New("no user to check")
	}
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: extraOf(who),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: right.Verb, Group: right.Group, Version: right.Version,
			Resource: right.Resource, Namespace: right.Namespace, Name: right.Name,
		},
	}
	// The JSON text identifies the whole question, because the keys of maps are sorted.
	text, err := json.Marshal(spec)
	if err != nil {
		return false, fmt.Errorf("writing the question: %w", err)
	}
	return look(ctx, v, question{kind: "subjectaccessreviews", name: string(text)},
		func(ctx context.Context) (bool, error) {
			return v.review(ctx, spec)
		})
}

// review accepts an "allowed" even if some authorizer returned an error, as the API server does for
// requests: pkg/endpoints/filters/authorization.go.
func (v *Cluster) review(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: spec}
	answer, err := v.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err != nil:
		return false, withoutStatus(err)
	case answer.Status.Allowed:
		return true, nil
	case answer.Status.EvaluationError != "":
		return false, errors.New(answer.Status.EvaluationError)
	default:
		return false, nil
	}
}

func extraOf(who user.Info) map[string]authorizationv1.ExtraValue {
	extra := make(map[string]authorizationv1.ExtraValue, len(who.GetExtra()))
	for key, values := range who.GetExtra() {
		extra[key] = values
	}
	return extra
}
