// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"net/http"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// A recheck of a stream does not use old cached answers. The start of a stream may use them.
func TestRechecksBoundTheAgeOfAnswers(t *testing.T) {
	var ages []time.Duration
	seen := func(ctx context.Context) { ages = append(ages, reviewclient.MaxAgeOf(ctx)) }
	who := &user.DefaultInfo{Name: "u"}
	h := &Handler{config: Config{
		Limits: DefaultLimits(),
		Authenticator: authenticatorFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
			seen(req.Context())
			return &authenticator.Response{User: who}, true, nil
		}),
		Authorize: func(ctx context.Context, _ authorizer.Attributes) (Answer, error) {
			seen(ctx)
			return Answer{Allowed: true}, nil
		},
	}}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://n/exec/ns/pod/c", nil)
	mapping, _, _ := mapStrict("/exec/ns/pod/c")
	x := &requestContext{handler: h, user: who, mapping: mapping}
	if err := h.stillAllowed(t.Context(), &stream{request: x, req: req}); err != nil {
		t.Fatal(err)
	}
	for _, age := range ages {
		if age != sharedAnswer {
			t.Errorf("an answer may be %v old, want %v", age, sharedAnswer)
		}
	}
	if len(ages) != 2 {
		t.Errorf("%d questions", len(ages))
	}
}

func TestWhenStreamsAreAskedAbout(t *testing.T) {
	for _, tc := range []struct{ recheck, first, maxAge time.Duration }{
		{5 * time.Minute, 10 * time.Second, 5 * time.Second},
		{10 * time.Second, 10 * time.Second, 2500 * time.Millisecond},
		{time.Second, time.Second, 250 * time.Millisecond},
		// 0 would mean any age.
		{1, 1, 1},
	} {
		limits := Limits{StreamRecheck: tc.recheck}
		if first, age := limits.firstCheck(), limits.maxAge(); first != tc.first || age != tc.maxAge {
			t.Errorf("every %v: first after %v, answers of up to %v; want %v and %v", tc.recheck, first, age, tc.first,
				tc.maxAge)
		}
	}
}

func mapStrict(path string) (enforced, audited kubeletauth.Mapping, refused *rules.Decision) {
	return kubeletauth.NewPolicy(kubeletauth.Strict, nil).Map(kubeletauth.Request{Method: http.MethodGet, Path: path})
}
