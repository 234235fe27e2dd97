// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"strings"
	"testing"
)

func TestKubeProxyScopeStatus(t *testing.T) {
	const (
		other  = `{"namespace": "ns", "serviceAccount": "kube-proxy", "authorization": "live", "admission": "live"}`
		host   = `{"node": "cp-1", "heard": "2026-01-02T03:04:05Z"}`
		before = `{"accounts": [` + other +
			`, {"namespace": "kube-system", "serviceAccount": "kube-proxy", "resources": "nodes,events", "mode": "enforce", `
	)
	for _, tc := range []struct{ name, list, mentions string }{
		{"live in both components: in scope",
			before + `"authorization": "live", "admission": "live"}], "hosts": [` + host + `]}`, ""},
		{"live in one is not", before + `"authorization": "live", "admission": "pending"}], "hosts": [` + host + `]}`,
			"admission is pending"},
		{"live in the other is not", before + `"authorization": "pending", "admission": "live"}], "hosts": [` + host + `]}`,
			"authorization is pending"},
		{"problem of a host is reported",
			before + `"authorization": "pending", "admission": "pending"}], ` +
				`"hosts": [{"node": "cp-1", "problem": "it told nothing"}]}`,
			"cp-1: it told nothing"},
		{"another namespace's is another account", `{"accounts": [` + other + `], "hosts": [` + host + `]}`, "does not know"},
		{"no accounts", `{"accounts": [], "hosts": []}`, "does not know"},
		{"no JSON", `no account has a scope`, "reading what"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := kubeProxyScoped([]byte(tc.list))
			if (err == nil) != (tc.mentions == "") || err != nil && !strings.Contains(err.Error(), tc.mentions) {
				t.Errorf("error is %v, want %q", err, tc.mentions)
			}
		})
	}
}
