// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Headers in which a client claims an identity do not reach the kubelet. Headers about the wanted
// answer do.
func TestHeadersAreNotBelieved(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("HTTP/2 ", http2), func(t *testing.T) { checkHeaders(t, http2) })
	}
}

func checkHeaders(t *testing.T, http2 bool) {
	t.Helper()
	w := start(t, answering(""), nil)
	w.tokens.Store("good", "admin")
	config := w.admin()
	config.Certificates = nil
	got := w.do(w.client(config, http2), http.MethodGet, "/pods", func(req *http.Request) {
		for _, name := range []string{
			"X-Remote-User", "X-Remote-Group", "X-Remote-Extra-Scopes", "x-remote-uid", "Impersonate-User", "Impersonate-Group",
			"impersonate-extra-x", "Impersonate-Uid", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Client-Cert",
			"Forwarded",
			"X-Real-Ip", "Cookie", "Proxy-Authorization", "Keep-Alive",
		} {
			req.Header.Set(name, "system:masters")
		}
		req.Header.Set("Authorization", "Bearer good")
		req.Header.Set("Accept", "application/json")
		req.Header.Set("User-Agent", "me")
		if !http2 {
			req.Header.Set("Connection", "Accept-Language")
			req.Header.Set("Accept-Language", "en")
		}
	})
	if got.code != http.StatusOK {
		t.Fatalf("answered %d %s", got.code, got.body)
	}
	names := slices.Sorted(maps.Keys(w.reached()[0].Header))
	if diff := cmp.Diff([]string{"Accept", "User-Agent"}, names); diff != "" {
		t.Errorf("headers that the kubelet sees, HTTP/2 %v (-want +got)\n%s", http2, diff)
	}
	if name := w.reached()[0].TLS.PeerCertificates[0].Subject.CommonName; name != "bulkhead:kubelet-auth-proxy" {
		t.Errorf("the kubelet sees %s", name)
	}
}

func TestTokensInSubProtocolsStayHere(t *testing.T) {
	for _, tt := range []struct {
		name     string
		in, want []string
	}{
		{"protocols without a token go on", []string{"v5.channel.k8s.io, v4.channel.k8s.io"},
			[]string{"v5.channel.k8s.io, v4.channel.k8s.io"}},
		{"token is removed", []string{"base64url.bearer.authorization.k8s.io.dG9rZW4, v4.channel.k8s.io"},
			[]string{"v4.channel.k8s.io"}},
		{"token in a header of its own is removed",
			[]string{"base64url.bearer.authorization.k8s.io.dG9rZW4", "v4.channel.k8s.io"},
			[]string{"v4.channel.k8s.io"}},
		{"token in upper case is removed", []string{"v4.channel.k8s.io,BASE64URL.bearer.authorization.k8s.io.dG9rZW4"},
			[]string{"v4.channel.k8s.io"}},
		{"token alone is removed", []string{"base64url.bearer.authorization.k8s.io.dG9rZW4"}, nil},
		{"empty token is removed", []string{"base64url.bearer.authorization.k8s.io."}, nil},
		{"a name that only looks like it goes on", []string{"base64url.bearer.authorization.k8s"},
			[]string{"base64url.bearer.authorization.k8s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header := http.Header{protocolHeader: tt.in}
			withhold(header)
			if diff := cmp.Diff(tt.want, header[protocolHeader]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
