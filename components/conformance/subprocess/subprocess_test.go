// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import (
	"os/exec"
	"testing"
	"time"
)

func TestMemoryOfAProcess(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start(t.Context(), t.TempDir(), shell, nil, "-c", "exec sleep 60")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	m, err := c.Memory()
	if err != nil || !(m.Now > 0 && m.Peak >= m.Now && m.Peak < 100) {
		t.Errorf("memory %+v, error %v", m, err)
	}
	c.Stop()
	if err := c.WaitUntil(t.Context(), time.Second, func() bool { return false }); err == nil {
		t.Error("waiting for a process that has ended succeeds")
	}
}
