// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"fmt"
	"sync"
	"testing"
)

// Twice as many nodes as there are places, from many goroutines: each is itself, every
// time.
func TestNodesShareRoomForUsers(t *testing.T) {
	users := newNodeUsers()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 4 * usersKept {
				node := fmt.Sprintf("node-%d", i%(2*usersKept))
				if got := users.of(node).GetName(); got != "system:node:"+node {
					t.Errorf("got %q for %s", got, node)
					return
				}
			}
		})
	}
	group.Wait()
	if users.of("") == users.of("x") || users.of("").GetName() != "system:node:" {
		t.Error("a node without a name has another's user")
	}
}
