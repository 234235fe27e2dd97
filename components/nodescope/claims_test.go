// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
)

func TestClaimedNode(t *testing.T) {
	const key = "authentication.kubernetes.io/node-name"
	for _, tc := range []struct {
		name  string
		extra map[string][]string
		want  string
	}{
		{"one node name", map[string][]string{key: {"me"}}, "me"},
		{"no claims", nil, ""},
		{"no node name", map[string][]string{key: {}}, ""},
		{"an empty node name", map[string][]string{key: {""}}, ""},
		{"two node names", map[string][]string{key: {"me", "other"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, limited := ClaimedNode(&user.DefaultInfo{Extra: tc.extra}); got != tc.want || !limited {
				t.Errorf("got %q, %v, want %q", got, limited, tc.want)
			}
		})
	}
}
