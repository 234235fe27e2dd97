// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestOutputOfEveryCommand: each command with -o names its formats, has a valid default, and refuses
// others.
func TestOutputOfEveryCommand(t *testing.T) {
	tested := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			walk(child)
		}
		flag := cmd.Flags().Lookup(outputFlag)
		format, ok := outputFormat{}, false
		if flag != nil {
			format, ok = flag.Value.(outputFormat)
		}
		if !ok {
			return
		}
		tested++
		if err := flag.Value.Set(flag.DefValue); err != nil || flag.DefValue != format.formats[0] {
			t.Errorf("%s: the default %q: %v", cmd.CommandPath(), flag.DefValue, err)
		}
		for _, bad := range []string{"", "xml", strings.ToUpper(flag.DefValue)} {
			err := cmd.Flags().Set(outputFlag, bad)
			if err == nil || !strings.Contains(err.Error(), "use "+format.choices()) || *format.value != flag.DefValue {
				t.Errorf("%s -o %q: %v, value %s", cmd.CommandPath(), bad, err, *format.value)
			}
		}
	}
	walk(newRootCommand())
	if tested < 11 {
		t.Errorf("%d commands have -o, want at least 11", tested)
	}
}
