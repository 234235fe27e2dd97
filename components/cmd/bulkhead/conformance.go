// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// conformanceProgram is a program of its own, because the suites in it are ten times as large as
// bulkhead.
const conformanceProgram = "bulkhead-conformance"

func newConformanceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "conformance",
		Short: "Report which rules a cluster enforces (runs bulkhead-conformance)",
		Long: `Conformance runs the program bulkhead-conformance, with the same flags. That program contains the end-to-end
suites. It runs them against any cluster, with or without Bulkhead, and writes a report.

It must be in the directory of this program, or in a directory of PATH. ` + "`make conformance`" + ` builds it. For
its flags and exit codes: bulkhead conformance --help`,
		Example:            `  bulkhead conformance --kubeconfig=admin.conf --output-dir=report`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("cannot find this program: %w", err)
			}
			program, err := findConformance(filepath.Dir(self))
			if err != nil {
				return err
			}
			return syscall.Exec(program, append([]string{program}, args...), os.Environ())
		},
	}
}

func findConformance(dir string) (string, error) {
	beside := filepath.Join(dir, conformanceProgram)
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
		return beside, nil
	}
	program, err := exec.LookPath(conformanceProgram)
	if err != nil {
		return "", fmt.Errorf("cannot find %s in %s or in PATH: build it with make conformance",
			conformanceProgram, dir)
	}
	return filepath.Abs(program)
}
