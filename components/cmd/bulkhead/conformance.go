// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/conformanceflags"
)

// conformanceProgram is a program of its own, because the suites in it are ten times as large as
// bulkhead.
const conformanceProgram = "bulkhead-conformance"

const conformanceHelp = `Conformance runs the program bulkhead-conformance, with the same flags. That program
contains the end-to-end suites. It runs them against any cluster, with or without Bulkhead, and
writes a report.

It must be in the directory of this program, or in a directory of PATH. A release has it as
bulkhead-conformance-linux-ARCH, and ` + "`make conformance`" + ` builds it.

` + conformanceflags.ExitCodes

func newConformanceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "conformance",
		Short:   "Report which rules a cluster enforces (runs bulkhead-conformance)",
		Long:    conformanceHelp,
		Example: `  bulkhead conformance --kubeconfig=admin.conf --output-dir=report`,
		// bulkhead-conformance parses the flags.
		DisableFlagParsing: true,
		ValidArgsFunction:  completeFlagValue,
		RunE: func(cmd *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("cannot find this program: %w", err)
			}
			program, err := findConformance(filepath.Dir(self))
			if err != nil && asksForHelp(args) {
				return cmd.Help()
			}
			if err != nil {
				return err
			}
			return syscall.Exec(program, append([]string{program}, args...), os.Environ())
		},
	}
	// They are only for the help and for completion.
	new(conformanceflags.Options).AddTo(cmd.Flags())
	conformanceflags.AddCompletions(cmd)
	cmd.InitDefaultHelpFlag()
	return cmd
}

// completeFlagValue completes the value of a flag. cobra does not do so for flags that it does not parse.
func completeFlagValue(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	flag, value, complete := strings.Cut(begun, "=")
	if !complete && len(args) > 0 {
		flag, value, args = args[len(args)-1], begun, args[:len(args)-1]
	}
	name, long := strings.CutPrefix(flag, "--")
	values, known := cmd.GetFlagCompletionFunc(name)
	if !long || !known {
		return nil, cobra.ShellCompDirectiveDefault
	}
	_ = cmd.Flags().Parse(args) // the contexts depend on --kubeconfig
	return values(cmd, nil, value)
}

// asksForHelp is true if the arguments have the flag for help. cobra does not look for it in flags that it does
// not parse.
func asksForHelp(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(arg string) bool { return arg == "-h" || arg == "--help" })
}

func findConformance(dir string) (string, error) {
	beside := filepath.Join(dir, conformanceProgram)
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
		return beside, nil
	}
	program, err := exec.LookPath(conformanceProgram)
	if err != nil {
		return "", fmt.Errorf("cannot find %s in %s or in PATH: install the file %s-linux-%s of the release there under the "+
			"name %[1]s, or build it with make conformance", conformanceProgram, dir, conformanceProgram, runtime.GOARCH)
	}
	return filepath.Abs(program)
}
