// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import (
	"fmt"
	"os"
	"strings"
)

// Memory is the resident memory of a process according to the kernel, in MB (millions of bytes).
type Memory struct{ Now, Peak float64 }

// Memory returns the memory of the process. It returns an error after the process has ended.
func (p *Process) Memory() (Memory, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return Memory{}, fmt.Errorf("reading the memory of %s: %w", p.name, err)
	}
	var m Memory
	for line := range strings.Lines(string(raw)) {
		var kilobytes float64
		name, value, _ := strings.Cut(line, ":")
		if _, err := fmt.Sscanf(value, "%f kB", &kilobytes); err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			m.Now = kilobytes * 1024 / 1e6
		case "VmHWM":
			m.Peak = kilobytes * 1024 / 1e6
		}
	}
	return m, nil
}
