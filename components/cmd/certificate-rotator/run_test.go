// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// TestRun checks that the program renews every certificate of the installation, and ends without an
// error when it is stopped.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	o := defaultOptions()
	o.layout.State, o.layout.KubePKI = filepath.Join(dir, "bulkhead"), filepath.Join(dir, "pki")
	for _, path := range append(o.layout.ComponentDirs(), o.layout.KubePKI) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, ca := range []pki.Pair{o.layout.CA(), o.layout.KubeCA()} {
		if _, err := pki.EnsureCA(ca, "test", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	c, err := o.config()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, c) }()
	keeper := o.layout.Rotator(o.policy, time.Now)
	for deadline := time.Now().Add(20 * time.Second); due(keeper) != ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("certificate %s is not renewed", due(keeper))
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// due returns the name of a certificate that must be renewed, or nothing.
func due(keeper pki.Rotator) string {
	for _, status := range keeper.Status() {
		if status.Due != "" {
			return status.Name
		}
	}
	return ""
}
