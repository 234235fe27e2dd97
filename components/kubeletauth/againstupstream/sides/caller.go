// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sides

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/util/cert"
)

// Caller is one kind of client.
type Caller struct {
	// Name is for the page.
	Name string
	// Token, if not empty, is shown instead of a certificate.
	Token string
	// HTTP1 has the client not speak HTTP/2.
	HTTP1 bool
}

// Callers are those that a kubelet has.
func Callers() []Caller {
	return []Caller{
		{Name: "certificate, HTTP/2"},
		{Name: "token, HTTP/2", Token: token()},
		{Name: "certificate, HTTP/1.1", HTTP1: true},
	}
}

// token is as long as that of a service account, and says that it is for the API
// server, as those of scrapers are. No one checks its signature: that is for the
// stand-in to say.
func token() string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	claims := `{"aud":["https://kubernetes.default.svc.cluster.local"],"exp":4102444800,"iat":1767225600,"iss":"https://kubernetes.default.svc.cluster.local",` +
		`"jti":"6f2c3f5e-0a1b-4c7d-9e8f-1a2b3c4d5e6f","kubernetes.io":{"namespace":"monitoring","node":{"name":"node","uid":"0e7b7d1c-1c0e-4f7a-8a43-3f1c2d5e6f70"},` +
		`"pod":{"name":"scraper-0","uid":"7c9e6679-7425-40de-944b-e07fc1f90ae7"},"serviceaccount":{"name":"scraper","uid":"6f2c3f5e-0a1b-4c7d-9e8f-1a2b3c4d5e6f"}},` +
		`"nbf":1767225600,"sub":"system:serviceaccount:monitoring:scraper"}`
	return part(`{"alg":"RS256","kid":"l5Xl6Zb0o0q0vXoN4b8b6yXGk0Y2yH0yN1hQ1rT8m5E"}`) + "." + part(claims) + "." + part(strings.Repeat("s", 256))
}

// TLS is what a client of the side is configured with. To the kubelet itself it shows
// the certificate of the proxies: the kubelet accepts no other.
func (s *Side) TLS(caller Caller) (*tls.Config, error) {
	roots, err := cert.NewPool(s.world.node.CA.CertFile)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: "localhost"}
	shown := s.world.callers.Client
	switch {
	case s.direct:
		shown = s.world.node.Client
	case caller.Token != "":
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(shown.CertFile, shown.KeyFile)
	config.Certificates = []tls.Certificate{pair}
	return config, err
}

// Client is one, with connections of its own.
func (s *Side) Client(caller Caller) (*http.Client, error) {
	config, err := s.TLS(caller)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: !caller.HTTP1, MaxIdleConnsPerHost: 128, DisableCompression: true}
	return &http.Client{Transport: transport}, nil
}

var errAnswer = errors.New("not the kubelet's answer")

// Get returns a call that gets a body of so many bytes.
func (s *Side) Get(caller Caller, path string, size int64) (func(ctx context.Context, n int) error, error) {
	client, err := s.Client(caller)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ int) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.Address+path, http.NoBody)
		if err != nil {
			return err
		}
		if caller.Token != "" {
			req.Header.Set("Authorization", "Bearer "+caller.Token)
		}
		answer, err := client.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		n, err := io.Copy(io.Discard, answer.Body)
		if err == nil && (answer.StatusCode != http.StatusOK || n != size) {
			err = fmt.Errorf("%s: %w: %s, %d bytes", path, errAnswer, answer.Status, n)
		}
		return err
	}, nil
}
