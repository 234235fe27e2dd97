// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeidentity

import (
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
)

func TestNodeName(t *testing.T) {
	nodes := []string{"system:nodes"}
	for _, tc := range []struct {
		name   string
		user   user.Info
		want   string
		isNode bool
	}{
		{"a prefixed user in the group is a node", &user.DefaultInfo{Name: "system:node:node0", Groups: nodes}, "node0",
			true},
		{"the group may be one of many",
			&user.DefaultInfo{Name: "system:node:node0", Groups: []string{"a", "system:nodes", "b"}}, "node0", true},
		{"the name is everything after the first prefix", &user.DefaultInfo{Name: "system:node:system:node:x", Groups: nodes},
			"system:node:x", true},
		{"a node without a name is still a node", &user.DefaultInfo{Name: "system:node:", Groups: nodes}, "", true},
		{"no user: not a node", nil, "", false},
		{"empty user: not a node", &user.DefaultInfo{}, "", false},
		{"the prefix alone does not make a node", &user.DefaultInfo{Name: "system:node:node0"}, "", false},
		{"the group alone does not make a node", &user.DefaultInfo{Name: "node0", Groups: nodes}, "", false},
		{"the prefix must come first", &user.DefaultInfo{Name: "x:system:node:node0", Groups: nodes}, "", false},
		{"the prefix must be whole", &user.DefaultInfo{Name: "system:node", Groups: nodes}, "", false},
		{"the prefix is case-sensitive", &user.DefaultInfo{Name: "System:Node:node0", Groups: nodes}, "", false},
		{"a group that resembles the group does not count",
			&user.DefaultInfo{Name: "system:node:node0", Groups: []string{"system:nodes2", "system:node"}}, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, isNode := NodeName(tc.user)
			if got != tc.want || isNode != tc.isNode {
				t.Errorf("NodeName() = %q, %v; want %q, %v", got, isNode, tc.want, tc.isNode)
			}
		})
	}
}
