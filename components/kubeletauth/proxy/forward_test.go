// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only a redirect that stays at this kubelet is forwarded, and never on an upgrade (CVE-2020-8559).
func TestRedirects(t *testing.T) {
	const refused = "Bad gateway: the kubelet answered with a redirect [KA-REDIRECT-1]\n"
	for _, tt := range []struct {
		name, location string
		status         int
		upgrade        bool
		code           int
	}{
		{"from a directory of logs to its slash", "pods/", 301, false, 301},
		{"to the same by its whole path", "/logs/pods/", 307, false, 307},
		{"to the same on an upgrade", "/logs/pods/", 302, true, 502},
		{"to the same in a roundabout way", "../logs/./pods/", 301, false, 301},
		{"to itself", "/logs/pods", 302, false, 502},
		{"to another path of this host", "/exec/ns/pod/c", 302, false, 502},
		{"to another path beside it", "other/", 301, false, 502},
		{"to another path above it", "../", 301, false, 502},
		{"to an encoded slash", "pods%2f", 301, false, 502},
		{"to the same with a query", "pods/?command=id", 301, false, 502},
		{"to the same with a fragment", "pods/#x", 301, false, 502},
		{"to another host", "https://192.0.2.7:10250/exec/a/b/c", 302, false, 502},
		{"to another host on an upgrade", "https://192.0.2.7:10250/exec/a/b/c", 302, true, 502},
		{"to another host, 307", "https://192.0.2.7:10250/exec/a/b/c", 307, false, 502},
		{"to another host without a scheme", "//192.0.2.7:10250/exec/a/b/c", 301, false, 502},
		{"location that browsers read as another host", `/\192.0.2.7/`, 301, false, 502},
		{"to another scheme", "javascript:alert(1)", 302, false, 502},
		{"to nowhere", "", 302, false, 502},
		{"304 Not Modified", "", 304, false, 304},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				if tt.location != "" {
					rw.Header()["Location"] = []string{tt.location}
				}
				rw.WriteHeader(tt.status)
			}), nil)
			got := w.do(w.client(w.admin(), false), http.MethodGet, "/logs/pods", func(req *http.Request) {
				if tt.upgrade {
					req.Header.Set("Connection", "Upgrade")
					req.Header.Set("Upgrade", "SPDY/3.1")
				}
			})
			if got.code != tt.code || tt.code == 502 && (got.body != refused || got.header.Get("Location") != "") {
				t.Errorf("answered %d %q %v, want %d", got.code, got.body, got.header, tt.code)
			}
			if n := len(w.reached()); n != 1 {
				t.Errorf("the kubelet was asked %d times", n)
			}
		})
	}
}

// A redirect may keep or drop the query, but must not add its own.
func TestRedirectsWithAQuery(t *testing.T) {
	from := &url.URL{Path: "/logs/pods", RawQuery: "a=b"}
	for location, want := range map[string]bool{"pods/?a=b": true, "pods/": true, "pods/?a=c": false,
		"pods/?a=b&c=d": false} {
		if got := samePlace(from, []string{location}); got != want {
			t.Errorf("%s: %v, want %v", location, got, want)
		}
	}
}

// An answer with two Location headers is rejected.
func TestTwoLocations(t *testing.T) {
	w := start(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header()["Location"] = []string{"pods/", "https://192.0.2.7/"}
		rw.WriteHeader(http.StatusFound)
	}), nil)
	if got := w.do(w.client(w.admin(), false), http.MethodGet, "/logs/pods", nil); got.code != http.StatusBadGateway {
		t.Errorf("answered %d %v", got.code, got.header)
	}
}

// If the kubelet rejects the proxy's certificate, that is not the client's fault. The client must
// not try other credentials, so it does not get a 401.
func TestTheKubeletsOwnRefusals(t *testing.T) {
	for status, want := range map[int]int{401: 502, 403: 403, 404: 404, 500: 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			w := start(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Www-Authenticate", "Basic")
				http.Error(rw, "said the kubelet", status)
			}), nil)
			got := w.do(w.client(w.admin(), false), http.MethodGet, "/pods", nil)
			if got.code != want || strings.Contains(got.body, "said the kubelet") != (want == status) {
				t.Errorf("answered %d %q, want %d", got.code, got.body, want)
			}
		})
	}
}

// All redirects of net/http for files and directories are forwarded. The kubelet serves /logs/ with
// this code.
func TestRedirectsOfTheKubelet(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pods/file", "pods/index.html"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/logs/", http.StripPrefix("/logs/", http.FileServer(http.Dir(dir))))
	w := start(t, mux, nil)
	client := w.client(w.admin(), false)
	for from, want := range map[string]string{
		"/logs": "307 /logs/", "/logs?a=b": "307 /logs/?a=b", "/logs/pods": "301 pods/", "/logs/pods?a=b": "301 pods/?a=b",
		"/logs/pods/file/": "301 ../file", "/logs/pods/index.html": "301 ./", "/logs/pods/": "200 ",
		"/logs/pods/file": "200 ",
	} {
		got := w.do(client, http.MethodGet, from, nil)
		if answer := fmt.Sprint(got.code, " ", got.header.Get("Location")); answer != want {
			t.Errorf("%s is answered %s %s, want %s", from, answer, got.body, want)
		}
	}
}
