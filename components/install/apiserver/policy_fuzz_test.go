// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

// FuzzPolicyOfNodesProxySubresource compares the policy with the proxy, for users who may only get nodes/proxy. If
// the policy allows a path, the proxy also accepts this right for the path, or denies the path to
// all users.
func FuzzPolicyOfNodesProxySubresource(f *testing.F) {
	for _, path := range kubeletauth.ServerPaths() {
		f.Add("/" + path.Prefix)
		f.Add("/" + path.Prefix + "/ns/pod/c")
	}
	for _, path := range []string{
		"", "/", "/pods/../exec/ns/pod/c", "/PODS", "/pods;/exec", "/healthz%2f..%2fexec", "//exec", "/exec\x00",
		"/debug/FLAGS/v", "/debug//flags",
		"/\u017ftats", "/\u212Aonfigz", "/pods\u2028", "/containerLogs/" + strings.Repeat("a/", 5000), "/metrics\\..\\exec",
		"/healthz\u00a0", "/runningpods/./",
	} {
		f.Add(path)
	}
	// Compiled once: to compile takes a thousand times as long as to evaluate.
	object, policy := kubeletPolicy(f)
	f.Fuzz(func(t *testing.T, path string) {
		if refusal(t, object, policy, path, grants{"get proxy"}) != "" {
			return
		}
		mapping, refused := kubeletauth.Strict.Map(
			kubeletauth.Request{Method: "GET", Path: "/" + strings.TrimPrefix(path, "/")})
		if refused == nil && !slices.Contains(mapping.Attempts, kubeletauth.Attributes{Verb: "get", Subresource: "proxy"}) {
			t.Errorf("%q passes the policy with get nodes/proxy, and the proxy asks for %v", path, mapping.Attempts)
		}
	})
}
