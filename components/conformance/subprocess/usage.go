// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// ticksPerSecond is Linux' USER_HZ, the unit of times in /proc, which is 100 on
// every architecture that Go runs on.
const ticksPerSecond = 100

// Memory is what the kernel says is resident of a process, in MB (millions of bytes).
type Memory struct{ Now, Peak float64 }

// Memory is that of the process. It fails once the process is gone.
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

// CPU is the time that the process has had on all cores so far.
func (p *Process) CPU() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading the time of %s: %w", p.name, err)
	}
	// The name is in brackets and may have blanks in it.
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	// Fields 14 and 15 of proc(5), of which two are before the bracket's end.
	var user, system int64
	if len(fields) < 13 {
		return 0, fmt.Errorf("reading the time of %s: %q", p.name, raw)
	}
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, fmt.Errorf("reading the time of %s: %w", p.name, err)
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}
