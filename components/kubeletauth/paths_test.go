// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"net/url"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// TestPaths has pairs of paths: one that is denied, with the rule, and one that differs in one
// detail and is mapped. The paths are written as in a request.
func TestPaths(t *testing.T) {
	for _, tc := range []struct {
		raw  string
		want rules.ID
	}{
		{"//pods", "KA-PATH-1"},
		{"/pods//", "KA-PATH-1"},
		{"/exec//ns/pod/c", "KA-PATH-1"},
		{"//", "KA-PATH-1"},
		{"/pods/", ""},
		{"/exec/ns/pod/c", ""},
		{"/", ""},

		{"/pods/.", "KA-PATH-2"},
		{"/pods/./", "KA-PATH-2"},
		{"/./pods", "KA-PATH-2"},
		{"/healthz/../exec/ns/pod/c", "KA-PATH-2"},
		{"/healthz/..", "KA-PATH-2"},
		{"/..", "KA-PATH-2"},
		{"/healthz/%2e%2e/exec/ns/pod/c", "KA-PATH-2"},
		{"/healthz/%2E%2e/exec/ns/pod/c", "KA-PATH-2"},
		{"/healthz/.%2e/exec/ns/pod/c", "KA-PATH-2"},
		{"/logs/..data", ""},
		{"/logs/...", ""},
		{"/logs/.a", ""},
		{"/logs/a.", ""},
		{"/logs/a%2elog", ""},

		{"/healthz%2f..%2fexec/ns/pod/c", "KA-PATH-3"},
		{"/exec%2Fns/pod/c", "KA-PATH-3"},
		{"/healthz/a%2f", "KA-PATH-3"},
		{"/healthz/..%5cexec", "KA-PATH-3"},
		{`/healthz\exec`, "KA-PATH-3"},
		{"/logs/\u00e9%5c", "KA-PATH-3"},
		{"/logs/a%00", "KA-PATH-3"},
		{"/logs/a%0d%0aHost:b", "KA-PATH-3"},
		{"/logs/a%09", "KA-PATH-3"},
		{"/logs/a%7f", "KA-PATH-3"},
		{"/logs/a%c2%85", "KA-PATH-3"},
		{"/logs/a%e2%80%ae", "KA-PATH-3"},
		{"/logs/a%ff", "KA-PATH-3"},
		{"/logs/a%c0%af", "KA-PATH-3"},
		{"/logs/%252e%252e/a", "KA-PATH-3"},
		{"/healthz/%252fexec", "KA-PATH-3"},
		{"/logs/%c3%a9%252f", "KA-PATH-3"},
		{"/logs/a%25", ""},
		{"/logs/a%252", ""},
		{"/logs/%c3%a9", ""},
		{"/logs/a%20b", ""},
		{"/%65xec/ns/pod/c", ""},

		{"/Exec/ns/pod/c", "KA-PATH-4"},
		{"/EXEC/ns/pod/c", "KA-PATH-4"},
		{"/portforward/ns/pod", "KA-PATH-4"},
		{"/runningPods", "KA-PATH-4"},
		{"/%c5%bftats/summary", "KA-PATH-4"},
		{"/exec;a=b/ns/pod/c", "KA-PATH-4"},
		{"/exec./ns/pod/c", "KA-PATH-4"},
		{"/exec%20/ns/pod/c", "KA-PATH-4"},
		{"/pods%3f", "KA-PATH-4"},
		{"/metrics.json", "KA-PATH-4"},
		{"/execs/ns/pod/c", ""},
		{"/a.b", ""},
		{"/logs/Exec", ""},
	} {
		t.Run(tc.raw, func(t *testing.T) {
			u, err := url.ParseRequestURI("https://node:10250" + tc.raw)
			if err != nil {
				t.Fatal(err)
			}
			for _, mode := range []Mode{Compat, Strict} {
				checkDenied(t, mode, Request{Method: "GET", Path: u.Path, RawPath: u.RawPath}, tc.want, 400)
			}
		})
	}
}

// TestPathsThatNoURLHas checks paths that net/url does not produce, for callers with another
// parser.
func TestPathsThatNoURLHas(t *testing.T) {
	for _, tc := range []struct {
		path, raw string
		want      rules.ID
	}{
		{"", "", "KA-PATH-1"},
		{"*", "", "KA-PATH-1"},
		{"pods", "", "KA-PATH-1"},
		{"/pods", "", ""},
		{"/pods", "/exec", "KA-PATH-3"},
		{"/pods", "/%70ods", ""},
		{"/pods", "/%7", "KA-PATH-3"},
		{"/pods/\xff", "", "KA-PATH-3"},
		{"/pods/\u00e9\xff", "", "KA-PATH-3"},
	} {
		for _, mode := range []Mode{Compat, Strict} {
			checkDenied(t, mode, Request{Method: "GET", Path: tc.path, RawPath: tc.raw}, tc.want, 400)
		}
	}
}

func TestMethodsThatAreNotServed(t *testing.T) {
	for _, tc := range []struct {
		method, path string
		want         rules.ID
	}{
		{"CONNECT", "/exec/ns/pod/c", "KA-METHOD-1"},
		{"CONNECT", "", "KA-METHOD-1"},
		{"TRACE", "/pods", "KA-METHOD-1"},
		{"OPTIONS", "/pods", ""},
		{"connect", "/pods", ""},
	} {
		for _, mode := range []Mode{Compat, Strict} {
			checkDenied(t, mode, Request{Method: tc.method, Path: tc.path}, tc.want, 405)
		}
	}
}

func checkDenied(t *testing.T, mode Mode, r Request, want rules.ID, status int) {
	t.Helper()
	mapping, refusal := mode.Map(r)
	if want == "" {
		if refusal != nil || len(mapping.Attempts) == 0 {
			t.Errorf("%v: %+v: refused: %+v", mode, r, refusal)
		}
		return
	}
	if refusal == nil || refusal.Rule != want || refusal.Code != status || len(mapping.Attempts) != 0 {
		t.Errorf("%v: %+v: %+v, %+v; want %d by %s", mode, r, mapping, refusal, status, want)
		return
	}
	if id, _ := rules.FromReason(refusal.Reason()); id != want {
		t.Errorf("%v: %+v: the reason is %q", mode, r, refusal.Reason())
	}
}
