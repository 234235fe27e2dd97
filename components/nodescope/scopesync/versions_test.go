// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAskComponentVersions(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		status     int
		want       SeenVersions
		wrong      string
	}{
		{"an answer", `{"serviceaccounts":"12","pods":"7"}`, 200, SeenVersions{"serviceaccounts": "12", "pods": "7"}, ""},
		{"no versions seen yet", `{}`, 200, SeenVersions{}, ""},
		{"an older component", "404 page not found", 404, nil, "404 Not Found"},
		{"a redirect", "", 302, nil, "302 Found"},
		{"no JSON", "ok", 200, nil, "invalid character"},
		{"another type", `[]`, 200, nil, "cannot unmarshal"},
		{"megabytes", `{"a":"` + strings.Repeat("x", 1<<20), 200, nil, "unexpected EOF"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != SeenPath {
					t.Errorf("asked for %s", r.URL.Path)
				}
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			client, err := NewSeenClient(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Ask(t.Context())
			if tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)) || tc.wrong == "" && err != nil {
				t.Fatalf("got %v, want %q", err, tc.wrong)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyLoopbackIsAsked(t *testing.T) {
	for base, good := range map[string]bool{
		"http://127.0.0.1:10462": true, "http://[::1]:10462": true,
		"https://127.0.0.1:10462": false, "http://10.0.0.1:10462": false, "http://localhost:1": false,
		"http://127.0.0.1": false, "127.0.0.1:1": false, "": false, ":": false,
	} {
		if _, err := NewSeenClient(base); (err == nil) != good {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestIncludes(t *testing.T) {
	v := SeenVersions{"pods": "10", "odd": "x"}
	for _, tc := range []struct {
		resource, version string
		want              bool
	}{
		{"pods", "", true}, {"pods", "9", true}, {"pods", "10", true}, {"pods", "11", false},
		{"serviceaccounts", "1", false}, {"serviceaccounts", "", true}, {"odd", "1", false}, {"pods", "x", false},
	} {
		if got := v.Includes(tc.resource, tc.version); got != tc.want {
			t.Errorf("%s %q: %v", tc.resource, tc.version, got)
		}
	}
	if SeenVersions(nil).Includes("pods", "1") {
		t.Error("nothing includes something")
	}
}
