// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"hash/maphash"
	"sync/atomic"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
)

// usersKept is more than the nodes that ask at about the same time.
const usersKept = 1024

// nodeGroups are those of every node.
//
// Source: pkg/auth/nodeidentifier/default.go.
var nodeGroups = []string{user.NodesGroup, user.AllAuthenticated}

// nodeUsers keeps the users that nodes are, so that to ask as one does not make it anew.
// Each takes the place of another. It is safe for concurrent use.
type nodeUsers struct {
	seed maphash.Seed
	kept [usersKept]atomic.Pointer[user.DefaultInfo]
}

func newNodeUsers() *nodeUsers { return &nodeUsers{seed: maphash.MakeSeed()} }

// of is the user of a node that has a pod; names come from bindings, so they are short.
// Nobody may change it.
func (n *nodeUsers) of(node string) user.Info {
	place := &n.kept[maphash.String(n.seed, node)%usersKept]
	if made := place.Load(); made != nil && made.Name[len(nodeidentity.Prefix):] == node {
		return made
	}
	made := &user.DefaultInfo{Name: nodeidentity.Prefix + node, Groups: nodeGroups}
	place.Store(made)
	return made
}
