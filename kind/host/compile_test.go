// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestCompilerEnv(t *testing.T) {
	const large = "MemTotal:       24683212 kB\n"
	for _, tt := range []struct{ name, memory, cgroup, gogc, want string }{
		{"enough memory", large, "max\n", "", "GOGC=400"},
		{"little memory", "MemTotal:        8123456 kB\n", "max\n", "", ""},
		{"a container with little memory", large, "4294967296\n", "", ""},
		{"unknown memory", "", "max\n", "", ""},
		{"the user's own setting", large, "max\n", "50", ""},
	} {
		root := fstest.MapFS{
			"proc/meminfo":             {Data: []byte(tt.memory)},
			"sys/fs/cgroup/memory.max": {Data: []byte(tt.cgroup)},
		}
		if got := strings.Join(compilerEnv(root, tt.gogc), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
