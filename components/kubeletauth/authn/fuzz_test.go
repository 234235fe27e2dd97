// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

func TestRemoveCredentials(t *testing.T) {
	for _, row := range []struct {
		name       string
		have, want []string
	}{
		{"no sub-protocols", nil, nil},
		{"sub-protocols without a token stay as they are", []string{"a,b", " c "}, []string{"a,b", " c "}},
		{"a token goes", []string{"a", inProtocol("x")}, []string{"a"}},
		{"a token among others goes", []string{"a, " + inProtocol("x") + ",b", "c"}, []string{"a,b,c"}},
		{"two tokens go", []string{inProtocol("x"), "a", inProtocol("y")}, []string{"a"}},
		{"only a token: no protocol stays", []string{inProtocol("x")}, nil},
		{"the case does not matter", []string{"a", strings.ToUpper(bearerProtocol) + "eA"}, []string{"a"}},
		{"similar protocol stays", []string{"a", bearerProtocol[:len(bearerProtocol)-1]},
			[]string{"a", bearerProtocol[:len(bearerProtocol)-1]}},
	} {
		t.Run(row.name, func(t *testing.T) {
			header := http.Header{"Authorization": {"Bearer x", "Basic y"}, "Other": {"z"}}
			if row.have != nil {
				header[protocolHeader] = row.have
			}
			RemoveCredentials(header)
			want := http.Header{"Other": {"z"}}
			if row.want != nil {
				want[protocolHeader] = row.want
			}
			if diff := cmp.Diff(want, header); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzProtocols sends random sub-protocols. Whether or not the client is authenticated by them, the
// token is never forwarded.
func FuzzProtocols(f *testing.F) {
	f.Add("v5.channel.k8s.io", inProtocol("token"))
	f.Add("a,"+inProtocol("token"), inProtocol("x"))
	f.Add(inProtocol(""), " , ,")
	f.Add("v5.channel.k8s.io", bearerProtocol+"dG9rZW7")
	f.Add(bearerProtocol+"!!", bearerProtocol)
	f.Fuzz(func(t *testing.T, first, second string) {
		api := newAPIServer()
		api.tokens["token"] = []string{apiAudience}
		a, err := New(Config{Options: DefaultOptions(), Reviews: api, Registry: metrics.NewKubeRegistry()})
		if err != nil {
			t.Fatal(err)
		}
		req := protocols(testpki.Request(t), first, second)
		_, ok, err := a.AuthenticateRequest(req)
		if ok && err != nil {
			t.Errorf("a user and %v", err)
		}
		if ok && (api.reviews() != 1 || api.asked[0].Token != "token" || !carries(first+","+second, "token")) {
			t.Errorf("%q, %q are accepted", first, second)
		}
		RemoveCredentials(req.Header)
		for _, value := range req.Header[protocolHeader] {
			for part := range strings.SplitSeq(value, ",") {
				if strings.HasPrefix(strings.ToLower(strings.TrimSpace(part)), bearerProtocol) {
					t.Errorf("%q goes on", part)
				}
			}
		}
	})
}

// carries reports whether one of the sub-protocols decodes to the token. The last character of
// base64url may have unused bits. So several texts decode to the same token, for the kubelet too.
func carries(protocols, token string) bool {
	for part := range strings.SplitSeq(protocols, ",") {
		encoded, ok := strings.CutPrefix(strings.TrimSpace(part), bearerProtocol)
		decoded, err := base64.RawURLEncoding.DecodeString(encoded)
		if ok && err == nil && string(decoded) == token {
			return true
		}
	}
	return false
}

func TestClaimedAudiences(t *testing.T) {
	for _, row := range []struct {
		name, token string
		want        []string
	}{
		{"one", jwt(`"a"`), []string{"a"}},
		{"several", jwt(`["a","b"]`), []string{"a", "b"}},
		{"none", jwt(`[]`), []string{}},
		{"an empty one", jwt(`""`), nil},
		{"null", jwt(`null`), nil},
		{"a number", jwt(`1`), nil},
		{"something among them", jwt(`["a",1]`), nil},
		{"no object", "e30.MQ.c2ln", nil},
		{"no audience", "e30.e30.c2ln", nil},
		{"no base64", "e30.!.c2ln", nil},
		{"two parts", "e30.e30", nil},
		{"four parts", jwt(`"a"`) + ".x", nil},
		{"no parts", "opaque", nil},
		{"nothing", "", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := claimedAudiences(row.token); !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func FuzzClaimedAudiences(f *testing.F) {
	for _, token := range []string{kubeletToken, apiToken, jwt(`"a"`), jwt(`[[]]`), "..", "a.b.c", ""} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if got := claimedAudiences(token); len(got) > 0 && strings.Count(token, ".") != 2 {
			t.Errorf("%q is for %q", token, got)
		}
	})
}
