// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	badToken       = "Unauthorized: invalid token [KA-AUTH-1]"
	badCertificate = "Unauthorized: invalid client certificate [KA-AUTH-1]"
	badProtocol    = "Unauthorized [KA-AUTH-1]"
)

// The order, and the effect of a rejected credential, are those of the kubelet. The exception is a
// revoked certificate.
func TestAuthenticationOrderMatchesTheKubelet(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.AudienceMode = rules.Off })
	open := newWorld(t, func(c *Config) { c.AudienceMode, c.Anonymous = rules.Off, true })
	good := func(w *world) *x509.Certificate { return w.ca.Client(t, "certificate-user", []string{"o"}) }
	stranger := testpki.NewCA(t, "ca").Client(t, "certificate-user", []string{"o"})
	for _, row := range []struct {
		name            string
		request         func(w *world) *http.Request
		want, anonymous string
	}{
		{"no credential", func(*world) *http.Request { return testpki.Request(t) }, "", "system:anonymous"},
		{"a certificate", func(w *world) *http.Request { return testpki.Request(t, good(w)) }, "certificate-user",
			"certificate-user"},
		{"a certificate of a stranger", func(*world) *http.Request { return testpki.Request(t, stranger) }, badCertificate,
			badCertificate},
		{"a certificate for servers", func(w *world) *http.Request {
			return testpki.Request(t,
				w.ca.Client(t, "x", nil,
					func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }))
		}, badCertificate, badCertificate},
		{"a certificate without a name",
			func(w *world) *http.Request { return testpki.Request(t, w.ca.Client(t, "", []string{"o"})) }, "",
			"system:anonymous"},
		{"a token", func(*world) *http.Request { return bearer(t, apiToken) }, "token-user", "token-user"},
		{"a bad token", func(*world) *http.Request { return bearer(t, "bad") }, badToken, badToken},
		{"no token after all", func(*world) *http.Request { return bearer(t, "") }, "", "system:anonymous"},
		{"another scheme", func(*world) *http.Request {
			req := testpki.Request(t)
			req.SetBasicAuth("u", "p")
			return req
		}, "", "system:anonymous"},
		{"a certificate and a token", func(w *world) *http.Request { return bearer(t, apiToken, good(w)) },
			"certificate-user", "certificate-user"},
		{"a certificate and a bad token", func(w *world) *http.Request { return bearer(t, "bad", good(w)) },
			"certificate-user", "certificate-user"},
		{"a certificate of a stranger and a token", func(*world) *http.Request { return bearer(t, apiToken, stranger) },
			"token-user", "token-user"},
		{"a certificate of a stranger and a bad token", func(*world) *http.Request { return bearer(t, "bad", stranger) },
			badCertificate, badCertificate},
		{"a token in the sub-protocol", func(*world) *http.Request {
			return protocols(testpki.Request(t), "v5.channel.k8s.io", inProtocol(apiToken))
		}, "token-user", "token-user"},
		{"a bad token in the sub-protocol", func(*world) *http.Request {
			return protocols(testpki.Request(t), "v5.channel.k8s.io", inProtocol("bad"))
		}, badToken, badToken},
		{"two tokens in the sub-protocol", func(*world) *http.Request {
			return protocols(testpki.Request(t), "v5.channel.k8s.io", inProtocol(apiToken), inProtocol(apiToken))
		}, badProtocol, badProtocol},
		{"a token as the only sub-protocol",
			func(*world) *http.Request { return protocols(testpki.Request(t), inProtocol(apiToken)) }, badProtocol, badProtocol},
		{"a sub-protocol that is not base64", func(*world) *http.Request {
			return protocols(testpki.Request(t), "v5.channel.k8s.io", bearerProtocol+"!")
		}, badProtocol, badProtocol},
		{"a sub-protocol without a websocket", func(*world) *http.Request {
			req := testpki.Request(t)
			req.Header[protocolHeader] = []string{"v5.channel.k8s.io", inProtocol(apiToken)}
			return req
		}, "", "system:anonymous"},
		{"a bad token and one in the sub-protocol", func(*world) *http.Request {
			return protocols(bearer(t, "bad"), "v5.channel.k8s.io", inProtocol(apiToken))
		}, "token-user", "token-user"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w.expect(t, row.request(w), row.want)
			open.expect(t, row.request(open), row.anonymous)
		})
	}
}

func TestUsers(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Anonymous = true })
	client := w.ca.Client(t, "c", []string{"x", "y|z"})
	for _, row := range []struct {
		name       string
		request    *http.Request
		groups     []string
		uid, extra string
		audiences  []string
	}{
		{"certificate", testpki.Request(t, client), []string{"x", "y|z", "system:authenticated"}, "",
			"authentication.kubernetes.io/credential-id", nil},
		{"token for kubelets", bearer(t, kubeletToken), []string{"a", "b|c", "system:authenticated"}, "1", "k",
			[]string{DefaultAudience}},
		{"token for the API server", bearer(t, apiToken), []string{"a", "b|c", "system:authenticated"}, "1", "k",
			[]string{apiAudience}},
		{"no credential", testpki.Request(t), []string{"system:unauthenticated"}, "", "", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			response, ok, err := w.AuthenticateRequest(row.request)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			if diff := cmp.Diff(row.groups, response.User.GetGroups()); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.audiences, []string(response.Audiences)); diff != "" {
				t.Errorf("audiences (-want +got):\n%s", diff)
			}
			if response.User.GetUID() != row.uid || row.extra != "" && len(response.User.GetExtra()[row.extra]) == 0 {
				t.Errorf("user is %v", response.User)
			}
		})
	}
}

func TestCredentialsDoNotGoOn(t *testing.T) {
	w := newWorld(t)
	for name, req := range map[string]*http.Request{
		"token": bearer(t, apiToken),
		"certificate, with the rest": protocols(bearer(t, "other", w.ca.Client(t, "c", nil)), "v5.channel.k8s.io",
			inProtocol("other")),
		"token, and one in protocol":  protocols(bearer(t, apiToken), "v5.channel.k8s.io, "+inProtocol("other")),
		"in protocol, and a password": protocols(testpki.Request(t), "v5.channel.k8s.io", inProtocol(apiToken)),
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "password") {
				req.SetBasicAuth("u", "p")
			}
			if _, ok, err := w.AuthenticateRequest(req); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if got := req.Header["Authorization"]; got != nil {
				t.Errorf("authorization is %q", got)
			}
			if got := req.Header.Get(protocolHeader); got != "" && got != "v5.channel.k8s.io" {
				t.Errorf("sub-protocols are %q", got)
			}
		})
	}
}

func TestRefusalsAreFitForALog(t *testing.T) {
	r := deny("KA-X-1", "no", errors.New("line\none\x1b[31m"+strings.Repeat("x", 10_000)))
	if text := r.Error(); strings.ContainsAny(text, "\n\x1b") || len(text) > 400 ||
		!strings.HasPrefix(text, "Unauthorized: no [KA-X-1]: line") {
		t.Errorf("%d bytes: %.100q", len(text), text)
	}
}

func TestDisabledAuthenticatorsAreSkipped(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.ClientCAFile, c.Revocation.CRL = "", nil })
	w.expect(t, testpki.Request(t, w.ca.Client(t, "c", nil)), "")
	w.expect(t, bearer(t, apiToken), "token-user")
	if w.ClientCA() != nil {
		t.Error("has a client CA")
	}
	w = newWorld(t, func(c *Config) { c.TokenWebhook, c.Reviews = false, nil })
	w.expect(t, bearer(t, apiToken), "")
	w.expect(t, testpki.Request(t, w.ca.Client(t, "c", nil)), "c")
	w = newWorld(t, func(c *Config) {
		c.ClientCAFile, c.Revocation.CRL, c.TokenWebhook, c.Anonymous = "", nil, false, true
	})
	w.expect(t, bearer(t, apiToken), "system:anonymous")
}
