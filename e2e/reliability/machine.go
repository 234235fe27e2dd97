// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
)

// Machine describes the machine that runs the program.
func Machine() string {
	text := fmt.Sprintf("%d cores", runtime.NumCPU())
	file, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return text
	}
	if size := memory(string(file)); size != "" {
		text += ", " + size
	}
	return text
}

// memory returns the size of the memory in GiB, from the text of /proc/meminfo.
func memory(meminfo string) string {
	for line := range strings.Lines(meminfo) {
		var kib float64
		if _, err := fmt.Sscanf(line, "MemTotal: %f kB", &kib); err == nil {
			return fmt.Sprintf("%.0f GiB", math.Ceil(kib/(1<<20)))
		}
	}
	return ""
}
