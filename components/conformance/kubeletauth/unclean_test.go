// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"net/url"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

// TestKubeletHandlingOfUncleanPaths checks what docs/kubelet-api.md says about these paths.
// The kubelet redirects them or has no handler for them, without authentication. It serves a few of
// them.
func TestKubeletHandlingOfUncleanPaths(t *testing.T) {
	for _, tc := range []struct {
		raw   string
		code  int
		asked bool
	}{
		{"//exec/ns/pod/c", 307, false},
		{"/exec//ns/pod/c", 307, false},
		{"/healthz/../exec/ns/pod/c", 307, false},
		{"/healthz/%2e%2e/exec/ns/pod/c", 404, false},
		{"/pods/.", 307, false},
		{"/exec%2Fns/pod/c", 404, false},
		{"/Exec/ns/pod/c", 404, false},
		{"/exec;a/ns/pod/c", 404, false},
		{"/logs/a%00", 200, true},
		{"/logs/%252e%252e", 200, true},
	} {
		u, err := url.ParseRequestURI("https://node:10250" + tc.raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, refusal := kubeletauth.Compat.Map(
			kubeletauth.Request{Method: "GET", Path: u.Path, RawPath: u.RawPath},
		); refusal == nil {
			t.Errorf("%s is not refused here", tc.raw)
		}
		r := newRequest("GET", u.Path, "")
		r.URL.RawPath = u.RawPath
		asked, answer, err := theKubelet().asked(r, true)
		if err != nil {
			t.Error(err)
		}
		if answer.Code != tc.code || (len(asked) > 0) != tc.asked {
			t.Errorf(
				"%s: the kubelet answers %d after asking about %v; want %d, asked %v",
				tc.raw,
				answer.Code,
				asked,
				tc.code,
				tc.asked,
			)
		}
	}
}
