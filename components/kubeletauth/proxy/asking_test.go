// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"errors"
	"io"
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// authenticator uses the real authenticator for certificates, and a fake one for tokens.
func (w *world) authenticator(caFile string) Authenticator {
	options := authn.DefaultOptions()
	options.ClientCAFile, options.TokenWebhook = caFile, false
	real, err := authn.New(authn.Config{Options: options, AudienceMode: rules.Off, Registry: w.registry})
	if err != nil {
		w.t.Fatal(err)
	}
	return authenticatorFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		switch listed := w.listed.Load(); {
		case listed != nil:
			return nil, false, &authn.Denied{Decision: rules.Decision{Rule: *listed}}
		case w.revoked.Load():
			return nil, false, errors.New("revoked")
		case w.renamed.Load():
			return &authenticator.Response{User: &user.DefaultInfo{Name: "another"}}, true, nil
		}
		token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
		if !ok {
			response, _, err := real.Authenticate(req)
			return response, response != nil, err
		}
		req.Header.Del("Authorization")
		name, ok := w.tokens.Load(token)
		if !ok {
			return nil, false, nil
		}
		return &authenticator.Response{User: &user.DefaultInfo{Name: name.(string)}}, true, nil
	})
}

func (w *world) authorize(_ context.Context, a authorizer.Attributes) (Answer, error) {
	if allow := w.allow.Load(); allow != nil {
		return (*allow)(a)
	}
	return Answer{Allowed: true, Cached: true}, nil
}

// decides makes the test's authorizer use allow from now on.
func (w *world) decides(allow func(authorizer.Attributes) (Answer, error)) { w.allow.Store(&allow) }

// admin is the TLS configuration of a client with a valid certificate.
func (w *world) admin() *tls.Config {
	config := w.clients.client(w.t, pkix.Name{CommonName: "admin", Organization: []string{"team"}})
	config.RootCAs = w.serving.Pool()
	return config
}

// client returns a client with this TLS configuration. It follows no redirect.
func (w *world) client(config *tls.Config, http2 bool) *http.Client {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: http2, DisableCompression: true,
		MaxIdleConnsPerHost: 64}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// got is the client's view of an answer.
type got struct {
	code   int
	body   string
	header http.Header
}

func (w *world) do(client *http.Client, method, path string, change func(*http.Request)) got {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "https://"+w.address+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	response, err := client.Do(req)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Errorf("%s %s: %v", method, path, err)
	}
	return got{response.StatusCode, string(body), response.Header}
}

// reached returns the requests that the kubelet received.
func (w *world) reached() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// authenticatorFunc is an Authenticator without findings.
type authenticatorFunc authenticator.RequestFunc

func (f authenticatorFunc) Authenticate(req *http.Request) (*authenticator.Response, []rules.Finding, error) {
	response, ok, err := f(req)
	if !ok {
		response = nil
	}
	return response, nil, err
}
