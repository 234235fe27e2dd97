// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package reviews shows why kubelet-auth-proxy makes its reviews with reviewclient, and not with the
// webhook authenticator and authorizer of k8s.io/apiserver, which the kubelet uses. If one of these
// tests fails for in-tree, correct the reason in components/kubeletauth/reviewclient/doc.go.
package reviews

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authz"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/reviewclient"
)

// subject makes reviews.
type subject struct {
	name string
	// token authenticates a token. access reviews a right to a node, and returns the reason too.
	token  func(ctx context.Context, token string) bool
	access func(ctx context.Context, node string) (allowed bool, reason string)
}

const inTree, bulkhead = "in-tree", "bulkhead"

// subjects returns both, with the same cache times.
func subjects(t *testing.T, api *apiServer) []subject {
	t.Helper()
	return []subject{newInTree(t, api), newBulkhead(t, api)}
}

// newInTree is what the kubelet builds (k8s.io/kubernetes/cmd/kubelet/app/auth.go).
func newInTree(t *testing.T, api *apiServer) subject {
	t.Helper()
	client, once := api.client(t), wait.Backoff{Steps: 1}
	who, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient: client.AuthenticationV1(), TokenAccessReviewTimeout: time.Minute,
		WebhookRetryBackoff: &once, CacheTTL: authn.DefaultOptions().TokenTTL,
	}.New()
	must(t, err)
	may, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), WebhookRetryBackoff: &once,
		AllowCacheTTL: authz.DefaultOptions().AuthorizedTTL, DenyCacheTTL: authz.DefaultOptions().UnauthorizedTTL,
	}.New()
	must(t, err)
	return subject{
		name: inTree,
		token: func(ctx context.Context, token string) bool {
			_, ok, err := who.AuthenticateRequest(withToken(ctx, token))
			return ok && err == nil
		},
		access: func(ctx context.Context, node string) (bool, string) {
			decision, reason, err := may.Authorize(ctx, metricsOf(node))
			return decision == authorizer.DecisionAllow && err == nil, reason
		},
	}
}

func newBulkhead(t *testing.T, api *apiServer) subject {
	t.Helper()
	client, registry := api.client(t), metrics.NewKubeRegistry()
	who, err := authn.New(authn.Config{
		Options: authn.DefaultOptions(), Reviews: client.AuthenticationV1().TokenReviews(), Registry: registry,
	})
	must(t, err)
	may, err := authz.New(authz.Config{
		Options: authz.DefaultOptions(), Reviews: client.AuthorizationV1().SubjectAccessReviews(), Registry: registry,
	})
	must(t, err)
	return subject{
		name: bulkhead,
		token: func(ctx context.Context, token string) bool {
			response, _, err := who.Authenticate(withToken(ctx, token))
			return response != nil && err == nil
		},
		access: func(ctx context.Context, node string) (bool, string) {
			answer, err := may.Authorize(ctx, metricsOf(node))
			return answer.Allowed && err == nil, answer.Reason
		},
	}
}

// withToken is a request with a token. All have one address.
func withToken(ctx context.Context, token string) *http.Request {
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	return req
}

// metricsOf are the attributes of a request of one user for the metrics of a node.
func metricsOf(node string) authorizer.Attributes {
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "scraper"}, Verb: "get", APIVersion: "v1", Resource: "nodes", Subresource: "metrics",
		Name: node, ResourceRequest: true,
	}
}

// TestReviewsOfOneClientInFlight: in-tree makes as many reviews at a time as one client causes.
func TestReviewsOfOneClientInFlight(t *testing.T) {
	const callers = 150
	for _, tc := range []struct {
		name string
		call func(ctx context.Context, s subject, i int)
		most map[string]int64
	}{
		{"tokens of one address",
			func(ctx context.Context, s subject, i int) { s.token(ctx, fmt.Sprintf("token-%d", i)) },
			map[string]int64{inTree: callers, bulkhead: int64(authn.DefaultOptions().ClientReviews.Burst)}},
		{"rights of one user",
			func(ctx context.Context, s subject, i int) { s.access(ctx, fmt.Sprintf("node-%d", i)) },
			map[string]int64{inTree: callers, bulkhead: int64(authz.DefaultOptions().MaxInFlight)}},
		{"one right of one user", func(ctx context.Context, s subject, _ int) { s.access(ctx, "node") },
			map[string]int64{inTree: callers, bulkhead: 1}},
	} {
		for i, name := range []string{inTree, bulkhead} {
			t.Run(tc.name+"/"+name, func(t *testing.T) {
				api := newAPIServer(t)
				release := api.block(t)
				s := subjects(t, api)[i]
				var group sync.WaitGroup
				for i := range callers {
					group.Go(func() { tc.call(t.Context(), s, i) })
				}
				api.awaitInFlight(t, tc.most[name])
				release()
				group.Wait()
				if most := api.most.Load(); most != tc.most[name] {
					t.Errorf("%d reviews at a time, want %d", most, tc.most[name])
				}
			})
		}
	}
}

// TestRecheckOfACachedAnswer: in-tree answers from its cache. No context or option makes it ask again
// about an open stream.
func TestRecheckOfACachedAnswer(t *testing.T) {
	for i, name := range []string{inTree, bulkhead} {
		t.Run(name, func(t *testing.T) {
			api := newAPIServer(t)
			s := subjects(t, api)[i]
			both := func(ctx context.Context) (token, access bool) {
				access, _ = s.access(ctx, "node")
				return s.token(ctx, "token"), access
			}
			if token, access := both(t.Context()); !token || !access || api.asked.Load() != 2 {
				t.Fatalf("token %v, access %v, %d reviews, want 2", token, access, api.asked.Load())
			}
			api.revoked.Store(true)
			if token, access := both(t.Context()); !token || !access || api.asked.Load() != 2 {
				t.Fatalf("token %v, access %v, %d reviews: want the cached answers", token, access, api.asked.Load())
			}
			time.Sleep(time.Millisecond)
			token, access := both(reviewclient.WithMaxAge(t.Context(), time.Millisecond))
			if still, want := name == inTree, map[string]int64{inTree: 2, bulkhead: 4}[name]; token != still ||
				access != still || api.asked.Load() != want {
				t.Errorf("recheck: token %v, access %v, want %v; %d reviews, want %d", token, access, still,
					api.asked.Load(), want)
			}
		})
	}
}

// TestBytesOfCachedAnswers: in-tree keeps answers of any size.
func TestBytesOfCachedAnswers(t *testing.T) {
	// Bulkhead's caches are bounded by 8 MiB each.
	const answers, size = 12, 1 << 20
	for i, name := range []string{inTree, bulkhead} {
		t.Run(name, func(t *testing.T) {
			api := newAPIServer(t)
			api.text = strings.Repeat("x", size)
			s := subjects(t, api)[i]
			ask := func() (kept int) {
				for i := range answers {
					if !s.token(t.Context(), fmt.Sprintf("token-%d", i)) {
						t.Errorf("token %d: denied", i)
					}
					allowed, reason := s.access(t.Context(), fmt.Sprintf("node-%d", i))
					if !allowed {
						t.Errorf("node %d: denied", i)
					}
					kept += len(reason)
				}
				return kept
			}
			ask()
			before := api.asked.Load()
			kept, again := ask(), api.asked.Load()-before
			if name == inTree && (kept < answers*size || again != 0) {
				t.Errorf("%d bytes of reasons, %d more reviews: want all answers from the cache", kept, again)
			}
			if name == bulkhead && (kept > answers<<10 || again == 0) {
				t.Errorf("%d bytes of reasons, %d more reviews: want short reasons, and tokens reviewed again", kept, again)
			}
		})
	}
}
