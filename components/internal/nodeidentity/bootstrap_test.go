// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeidentity

import (
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
)

func TestWriter(t *testing.T) {
	for _, tc := range []struct {
		name         string
		user         user.Info
		share        string
		bootstrapper bool
		reviewed     bool
	}{
		{"node", &user.DefaultInfo{Name: "system:node:a", Groups: []string{"system:nodes"}}, "a", false, true},
		{"bootstrap token", &user.DefaultInfo{Name: "system:bootstrap:abcdef", Groups: []string{"system:bootstrappers"}},
			"system:bootstrap:abcdef", true, true},
		{"bootstrap certificate", &user.DefaultInfo{Name: "joiner", Groups: []string{"x", "system:bootstrappers"}}, "joiner",
			true, true},
		{"further group", &user.DefaultInfo{Name: "joiner", Groups: []string{"system:bootstrappers:kubeadm"}}, "joiner", true,
			true},
		{"group with the same beginning", &user.DefaultInfo{Name: "joiner", Groups: []string{"system:bootstrappers2"}}, "",
			false, false},
		{"group in capitals", &user.DefaultInfo{Name: "joiner", Groups: []string{"System:bootstrappers"}}, "", false, false},
		{"token's name without the group",
			&user.DefaultInfo{Name: "system:bootstrap:abcdef", Groups: []string{"system:authenticated"}}, "", false, false},
		{"node that is also a bootstrapper",
			&user.DefaultInfo{Name: "system:node:a", Groups: []string{"system:bootstrappers", "system:nodes"}}, "a", true, true},
		{"no groups", &user.DefaultInfo{Name: "a"}, "", false, false},
		{"no user", nil, "", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := IsBootstrapper(tc.user); got != tc.bootstrapper {
				t.Errorf("IsBootstrapper() = %v, want %v", got, tc.bootstrapper)
			}
			if share, reviewed := Writer(tc.user); share != tc.share || reviewed != tc.reviewed {
				t.Errorf("Writer() = %q, %v; want %q, %v", share, reviewed, tc.share, tc.reviewed)
			}
		})
	}
}
