// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

func TestMachineLockIsSharedInCheckout(t *testing.T) {
	root := t.TempDir()
	writeAt(t, filepath.Join(root, "go.mod"))
	var files []string
	for _, suite := range []string{"one", "two"} {
		directory := filepath.Join(root, "e2e", suite)
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Chdir(directory)
		file, err := machineLock()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if want := filepath.Join(root, "_output", "e2e-machine.lock"); files[0] != want || files[1] != want {
		t.Errorf("locks %q, want both %q", files, want)
	}
}

func TestMachineLockOutsideCheckout(t *testing.T) {
	t.Chdir(t.TempDir())
	file, err := machineLock()
	if err != nil {
		t.Fatal(err)
	}
	release, err := progress.Lock(t.Context(), file, func() { t.Error("another process has the lock") })
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	interrupted, interrupt := context.WithCancel(t.Context())
	if _, err := progress.Lock(interrupted, file, interrupt); !errors.Is(err, context.Canceled) {
		t.Errorf("the second of two waits until it is interrupted: %v", err)
	}
}

func TestMachineLockInReadOnlyDirectory(t *testing.T) {
	directory := t.TempDir()
	writeAt(t, filepath.Join(directory, "_output"))
	t.Chdir(directory)
	if file, err := machineLock(); err == nil {
		t.Errorf("got %q", file)
	}
}

func writeAt(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
