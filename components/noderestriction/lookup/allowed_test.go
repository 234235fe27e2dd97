// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

func TestAllowed(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		want         bool
		err          string
	}{
		{"allowed", `{"status":{"allowed":true}}`, true, ""},
		{"not allowed", `{"status":{"allowed":false}}`, false, ""},
		{"denied", `{"status":{"allowed":false,"denied":true,"reason":"r"}}`, false, ""},
		{"an error beside an allowance does not matter", `{"status":{"allowed":true,"evaluationError":"no role"}}`, true, ""},
		{"not allowed, with an evaluation error: error", `{"status":{"evaluationError":"no role"}}`, false,
			"cannot look up subjectaccessreviews: no role"},
		{"response without a status: not allowed", `{}`, false, ""},
		{"forbidden: error", "403", false, "cannot look up subjectaccessreviews: the server says 403"},
		{"missing API: error, not 404", "404", false,
			"cannot look up subjectaccessreviews: the server says 404"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, answers(tt.answer))
			got, err := w.Allowed(t.Context(), &user.DefaultInfo{Name: "system:node:me"},
				noderestriction.Right{Verb: "v", Resource: "r"})
			if text := errorText(err); got != tt.want || text != tt.err || apierrors.IsNotFound(err) {
				t.Errorf("%v, %q, want %v, %q", got, text, tt.want, tt.err)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The authorizers receive all attributes of the user and of the right.
func TestAllOfTheUserIsAskedAbout(t *testing.T) {
	w := newWorld(t, answers(`{"status":{"allowed":true}}`))
	who := &user.DefaultInfo{Name: "system:node:me", UID: "1", Groups: []string{"system:nodes", "g"},
		Extra: map[string][]string{"k": {"a", "b"}}}
	right := noderestriction.Right{Verb: "v", Group: "g", Version: "v1", Resource: "https://r", Namespace: "n", Name: "x"}
	if _, err := w.Allowed(t.Context(), who, right); err != nil {
		t.Fatal(err)
	}
	asked := w.api.requests()
	body, isCreate := strings.CutPrefix(asked[0], "POST /apis/authorization.k8s.io/v1/subjectaccessreviews ")
	var got authorizationv1.SubjectAccessReview
	if err := json.Unmarshal([]byte(body), &got); err != nil || !isCreate {
		t.Fatalf("%q: %v", asked, err)
	}
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "system:node:me", UID: "1", Groups: []string{"system:nodes", "g"},
		Extra: map[string]authorizationv1.ExtraValue{"k": {"a", "b"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "v", Group: "g", Version: "v1", Resource: "https://r",
			Namespace: "n", Name: "x"},
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAllowedNeedsAUser(t *testing.T) {
	w := newWorld(t, answers(`{"status":{"allowed":true}}`))
	if allowed, err := w.Allowed(t.Context(), nil, noderestriction.Right{}); allowed || err == nil {
		t.Errorf("%v, %v", allowed, err)
	}
}
