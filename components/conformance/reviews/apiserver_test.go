// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviews

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// apiServer answers reviews, and counts them. Every token is valid and everything is allowed, until
// revoked is true.
type apiServer struct {
	url                   string
	asked, inFlight, most atomic.Int64
	revoked               atomic.Bool
	// text is a group of the user of each token, and the reason of each right.
	text string
	// blocked, if not nil, delays every answer until it is closed.
	blocked chan struct{}
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{text: "e2e"}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	s.asked.Add(1)
	now := s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); {
		most = s.most.Load()
	}
	if s.blocked != nil {
		<-s.blocked
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(request.URL.Path, "/tokenreviews") {
		review := &authenticationv1.TokenReview{}
		review.APIVersion, review.Kind = "authentication.k8s.io/v1", "TokenReview"
		if !s.revoked.Load() {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true,
				User: authenticationv1.UserInfo{Username: "scraper", Groups: []string{s.text}}}
		}
		_ = json.NewEncoder(w).Encode(review)
		return
	}
	review := &authorizationv1.SubjectAccessReview{}
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
	review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: !s.revoked.Load(), Reason: s.text}
	_ = json.NewEncoder(w).Encode(review)
}

// client has no rate limit, as that of the kubelet and of kubelet-auth-proxy.
func (s *apiServer) client(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: s.url, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	must(t, err)
	return client
}

// block delays all answers until the returned function is called, or the test ends.
func (s *apiServer) block(t *testing.T) (release func()) {
	t.Helper()
	s.blocked = make(chan struct{})
	release = sync.OnceFunc(func() { close(s.blocked) })
	t.Cleanup(release)
	return release
}

// awaitInFlight waits for that many reviews at a time.
func (s *apiServer) awaitInFlight(t *testing.T, want int64) {
	t.Helper()
	const patience = time.Minute
	for end := time.Now().Add(patience); s.inFlight.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d reviews in flight, want %d", s.inFlight.Load(), want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
