// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package interference_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authz"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// grant is a token with the rights of its user on nodes. The token is the name of the user too.
type grant struct {
	token string
	// right is a verb and a subresource of the node, or "" for none.
	right string
}

// call is a request to the API of the node's kubelet.
type call struct{ token, method, path string }

// reviews answers the two reviews of one cluster, and records them.
type reviews struct {
	known  map[string]bool
	grants map[grant]bool

	mu   sync.Mutex
	made []string
}

func (r *reviews) record(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, text)
}

type tokenReviews struct {
	authenticationv1client.TokenReviewInterface
	*reviews
}

func (r tokenReviews) Create(_ context.Context, review *authenticationv1.TokenReview,
	_ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	r.record("token " + review.Spec.Token)
	answer := review.DeepCopy()
	if r.known[review.Spec.Token] {
		answer.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: review.Spec.Audiences,
			User: authenticationv1.UserInfo{Username: review.Spec.Token}}
	}
	return answer, nil
}

type accessReviews struct {
	authorizationv1client.SubjectAccessReviewInterface
	*reviews
}

func (r accessReviews) Create(_ context.Context, review *authorizationv1.SubjectAccessReview,
	_ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	asked := review.Spec.ResourceAttributes
	right := grant{review.Spec.User, asked.Verb + " " + asked.Subresource}
	r.record(fmt.Sprintf("access %v to %s", right, asked.Name))
	answer := review.DeepCopy()
	answer.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: r.grants[right], Reason: "of " + right.token}
	return answer, nil
}

// kubeletPolicy is authentication, mapping and authorization of kubelet-auth-proxy.
type kubeletPolicy struct {
	*reviews
	authn  *authn.Authenticator
	policy *kubeletauth.Policy
	authz  *authz.Authorizer
}

func newKubeletPolicy(t *testing.T, grants []grant) *kubeletPolicy {
	t.Helper()
	k := &kubeletPolicy{
		reviews: &reviews{known: map[string]bool{}, grants: map[grant]bool{}},
		policy:  kubeletauth.NewPolicy(kubeletauth.Strict, nil),
	}
	for _, g := range grants {
		k.known[g.token], k.grants[g] = true, true
	}
	// The limits of all clients together are not part of the property: they depend on the time.
	options := authn.DefaultOptions()
	options.ClientReviews, options.Reviews = authn.Rate{PerSecond: 1e9, Burst: 1e6}, authn.Rate{PerSecond: 1e9, Burst: 1e6}
	var err error
	if k.authn, err = authn.New(authn.Config{Options: options, Reviews: tokenReviews{reviews: k.reviews},
		AudienceMode: rules.Audit, Registry: unregistered{}}); err != nil {
		t.Fatal(err)
	}
	if k.authz, err = authz.New(authz.Config{Options: authz.DefaultOptions(),
		Reviews: accessReviews{reviews: k.reviews}, Registry: unregistered{}}); err != nil {
		t.Fatal(err)
	}
	return k
}

// answer decides as the handler of package proxy does.
func (k *kubeletPolicy) answer(c call) string {
	decided := k.decide(c)
	made := fmt.Sprint(k.made)
	k.made = nil
	return decided + " reviews=" + made
}

func (k *kubeletPolicy) decide(c call) string {
	mapping, audited, refused := k.policy.Map(kubeletauth.Request{Method: c.method, Path: c.path})
	if refused != nil {
		return fmt.Sprintf("unmapped:%s %d %q", refused.Rule, refused.Code, refused.Reason())
	}
	req, err := http.NewRequestWithContext(context.Background(), c.method, "https://node:10250"+c.path, nil)
	if err != nil {
		return err.Error()
	}
	req.RemoteAddr = "192.0.2.1:1"
	req.Header.Set("Authorization", "Bearer "+c.token)
	who, findings, err := k.authn.Authenticate(req)
	if err != nil || who == nil {
		return fmt.Sprintf("unauthenticated: %v %v", findings, err)
	}
	answers := ""
	for _, attempt := range mapping.Attempts {
		answer, err := k.authz.Authorize(context.Background(), authorizer.AttributesRecord{
			User: who.User, Verb: attempt.Verb, APIVersion: "v1", Resource: "nodes", Subresource: attempt.Subresource,
			Name: self, ResourceRequest: true, Path: c.path,
		})
		answers += fmt.Sprintf(" %+v %v", answer, err)
		if answer.Allowed {
			return fmt.Sprintf("allow:%s %v %v%s", mapping.Rule, findings, audited.Attempts, answers)
		}
	}
	return fmt.Sprintf("deny:%s %v%s", mapping.Rule, findings, answers)
}

var (
	clients   = []string{"monitoring", "operator", "stranger-1", "stranger-2", "stranger-3"}
	rights    = []string{"", "get metrics", "get proxy", "create exec", "get pods", "get stats", "create run", "get log"}
	callPaths = []string{"/metrics", "/pods", "/exec/ns/pod/c", "/run/ns/pod/c", "/stats/summary", "/logs/x", "/healthz",
		"/containerLogs/ns/pod/c", "/configz", "/attach/ns/pod/c", "//pods", "/unknown"}
	methods = []string{"GET", "GET", "POST", "CONNECT"}
)

// own are the clients whose calls are compared. The others are unrelated.
const own = 2

func kubeletPair(rng harness.RNG) pair[grant, call] {
	var p pair[grant, call]
	for i, token := range clients {
		for range rng.IntN(4) {
			g := grant{token, harness.Pick(rng, rights)}
			if i < own {
				p.objects = append(p.objects, shared(g))
			} else {
				p.objects = append(p.objects, unrelated(rng, g))
			}
		}
	}
	for range 8 {
		c := call{harness.Pick(rng, clients), harness.Pick(rng, methods), harness.Pick(rng, callPaths)}
		if c.token == clients[0] || c.token == clients[1] {
			p.questions = append(p.questions, shared(c))
		} else {
			p.questions = append(p.questions, unrelatedCall(rng, c))
		}
	}
	return p
}

// unrelatedCall returns a call that is made in one cluster only.
func unrelatedCall(rng harness.RNG, c call) member[call] {
	first := rng.OneIn(2)
	return member[call]{c, first, !first}
}

// TestKubelet asks kubelet-auth-proxy's policy about the calls of two clients. Other clients have
// other rights, and call at other times.
func TestKubelet(t *testing.T) {
	var p policy[grant, call]
	p.run(t, func(t *testing.T) policy[grant, call] {
		t.Helper()
		return policy[grant, call]{
			pair:   kubeletPair,
			build:  func(grants []grant) answerer[call] { return newKubeletPolicy(t, grants).answer },
			object: func(g grant) string { return fmt.Sprintf("%+v", g) },
			asked:  func(c call) string { return fmt.Sprintf("%+v", c) },
		}
	}, []string{"allow:KA-METRICS-1", "deny:KA-METRICS-1", "allow:KA-EXEC-1", "deny:KA-EXEC-1", "allow:KA-POD-1",
		"deny:KA-POD-1", "unauthenticated:", "unmapped:KA-PATH-1"})
}
