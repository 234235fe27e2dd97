// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const apiAudience = "https://kubernetes.default.svc"

// apiServer is a fake API server with a list of tokens and their valid audiences. It answers
// reviews as k8s.io/kubernetes/pkg/registry/authentication/tokenreview does.
type apiServer struct {
	authenticationv1client.TokenReviewInterface
	tokens map[string][]string
	err    error
	before func(context.Context)
	// users are the users of tokens. Other tokens are of token-user.
	users map[string]string
	// extra, if not nil, is the extra of every user.
	extra map[string]authenticationv1.ExtraValue

	mu    sync.Mutex
	asked []authenticationv1.TokenReviewSpec
}

func (s *apiServer) Create(ctx context.Context, r *authenticationv1.TokenReview,
	_ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Spec)
	s.mu.Unlock()
	if s.before != nil {
		s.before(ctx)
	}
	answer := r.DeepCopy()
	wanted := authenticator.Audiences(r.Spec.Audiences)
	if len(wanted) == 0 {
		wanted = authenticator.Audiences{apiAudience}
	}
	good := wanted.Intersect(s.tokens[r.Spec.Token])
	if len(good) == 0 {
		answer.Status.Error = "[invalid bearer token]"
		return answer, s.err
	}
	answer.Status = authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: good,
		User: authenticationv1.UserInfo{Username: cmp.Or(s.users[r.Spec.Token], "token-user"), UID: "1",
			Groups: []string{"a", "b|c"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}},
	}
	if s.extra != nil {
		answer.Status.User.Extra = s.extra
	}
	return answer, s.err
}

func (s *apiServer) reviews() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// jwt is an unsigned token with these audiences.
func jwt(aud string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"aud":`+aud+`}`)) + ".c2ln"
}

var (
	kubeletToken = jwt(`["bulkhead:kubelet"]`)
	apiToken     = jwt(`["https://kubernetes.default.svc"]`)
	bothToken    = jwt(`["https://kubernetes.default.svc","bulkhead:kubelet"]`)
)

func newAPIServer() *apiServer {
	return &apiServer{tokens: map[string][]string{
		kubeletToken: {DefaultAudience}, apiToken: {apiAudience}, bothToken: {apiAudience, DefaultAudience},
		"opaque": {apiAudience},
	}}
}

// world is an authenticator with its environment.
type world struct {
	*Authenticator
	api      *apiServer
	ca       *testpki.CA
	caFile   string
	crlFile  string
	registry metrics.KubeRegistry

	mu       sync.Mutex
	findings []rules.Finding
}

// newWorld has a client CA, an empty revocation list and an API server. tweak can change these.
func newWorld(t *testing.T, tweak ...func(*Config)) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		api: newAPIServer(), ca: testpki.NewCA(t, "ca"), registry: metrics.NewKubeRegistry(),
		caFile: filepath.Join(dir, "ca.crt"), crlFile: filepath.Join(dir, "crl"),
	}
	write(t, w.caFile, w.ca.PEM())
	write(t, w.crlFile, w.ca.CRL(t, nil))
	config := Config{Options: DefaultOptions(), Reviews: w.api, AudienceMode: rules.Audit, Registry: w.registry}
	config.ClientCAFile, config.Revocation.CRL = w.caFile, []string{w.crlFile}
	for _, change := range tweak {
		change(&config)
	}
	a, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	w.Authenticator = a
	return w
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// bearer is a request with a bearer token.
func bearer(t *testing.T, token string, shown ...*x509.Certificate) *http.Request {
	t.Helper()
	req := testpki.Request(t, shown...)
	req.Header.Set("Authorization", "Bearer "+token)
	return req
}

// from sets the address of the client.
func from(req *http.Request, remote string) *http.Request {
	req.RemoteAddr = remote
	return req
}

// protocols is a request for a websocket with these sub-protocols.
func protocols(req *http.Request, values ...string) *http.Request {
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	req.Header[protocolHeader] = values
	return req
}

func inProtocol(token string) string {
	return bearerProtocol + base64.RawURLEncoding.EncodeToString([]byte(token))
}

// outcome is the result of a request: the user name, the reason of the denial, or "".
func (w *world) outcome(t *testing.T, req *http.Request) string {
	t.Helper()
	response, findings, err := w.Authenticate(req)
	ok := response != nil
	w.mu.Lock()
	w.findings = append(w.findings, findings...)
	w.mu.Unlock()
	if err != nil {
		var refusal *Denied
		if !errors.As(err, &refusal) || ok || response != nil {
			t.Fatalf("an error that is no refusal: %v, %v, %v", response, ok, err)
		}
		return refusal.Reason()
	}
	if !ok {
		return ""
	}
	return response.User.GetName()
}

func (w *world) expect(t *testing.T, req *http.Request, want string) {
	t.Helper()
	if got := w.outcome(t, req); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// saying is a fake API server that answers with other audiences.
type saying struct {
	*apiServer
	audiences []string
}

func (s saying) Create(ctx context.Context, r *authenticationv1.TokenReview,
	o metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	answer, err := s.apiServer.Create(ctx, r, o)
	answer.Status.Audiences = s.audiences
	return answer, err
}

// AuthenticateRequest is Authenticate for tests that ignore findings.
func (a *Authenticator) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	response, _, err := a.Authenticate(req)
	return response, response != nil, err
}
