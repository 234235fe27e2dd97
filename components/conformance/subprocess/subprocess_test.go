// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestUsageOfAProcess(t *testing.T) {
	dir := t.TempDir()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(shell, filepath.Join(dir, "child")); err != nil {
		t.Fatal(err)
	}
	c, err := Start(t.Context(), dir, "child", nil, "-c", "echo begun; while :; do :; done")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	err = c.WaitUntil(t.Context(), 10*time.Second, func() bool {
		used, err := c.CPU()
		return err == nil && used > 50*time.Millisecond
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Memory()
	if err != nil || !(m.Now > 0 && m.Peak >= m.Now && m.Peak < 100) {
		t.Errorf("memory %+v, error %v", m, err)
	}
	c.Stop()
	if err := c.WaitUntil(t.Context(), time.Second, func() bool { return false }); err == nil {
		t.Error("waiting for a process that has ended succeeds")
	}
}
