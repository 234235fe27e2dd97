// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// hugePages is the file of the kernel's setting. The value in brackets is in force, for example:
// always [madvise] never.
const hugePages = "/sys/kernel/mm/transparent_hugepage/enabled"

// WithHugePages calls compile while the kernel gives huge pages to all programs, and then restores the
// setting. Go's compiler uses memory that it gives back seconds later. Where a page fault is expensive, as
// in a virtual machine, a third of its time is page faults. Only root may change the setting. Without root,
// or without the file, only the time differs.
//
// If this program is killed, the setting stays until the next boot. It is the default of Debian's kernel.
func WithHugePages(log io.Writer, compile func() error) error {
	return withHugePages(hugePages, log, compile)
}

func withHugePages(file string, log io.Writer, compile func() error) error {
	setting, err := os.ReadFile(file)
	if err != nil {
		return compile()
	}
	_, rest, _ := strings.Cut(string(setting), "[")
	before, _, found := strings.Cut(rest, "]")
	if !found || before == "always" || os.WriteFile(file, []byte("always"), 0o644) != nil {
		return compile()
	}
	fmt.Fprintf(log, "while Go compiles, %s is always instead of %s\n", file, before)
	defer func() {
		if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
			fmt.Fprintf(log, "to restore it, run: echo %s >%s (%v)\n", before, file, err)
		}
	}()
	return compile()
}
