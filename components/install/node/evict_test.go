// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestProcesses(t *testing.T) {
	for program, want := range map[string]bool{filepath.Base(os.Args[0]): true, "kubelet-auth-proxy.test": false} {
		found, err := processes("/proc", program)
		if err != nil || slices.Contains(found, os.Getpid()) != want {
			t.Errorf("%s: processes %v, %v", program, found, err)
		}
	}
}

func TestPortOwner(t *testing.T) {
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	owners, inUse, err := portOwners("/proc", port)
	must(t, err)
	if _, ours := owners[os.Getpid()]; !inUse || !ours || len(owners) != 1 {
		t.Errorf("held %v by %v", inUse, owners)
	}
	must(t, listener.Close())
	if owners, inUse, err := portOwners("/proc", port); err != nil || inUse {
		t.Errorf("after that held %v by %v: %v", inUse, owners, err)
	}
}
