// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json

	"github.com/bulkhead-k8s/bulkhead/components/internal/version"
)

// HelpColumns is the line length of --help.
const HelpColumns = 100

// exitCodes are those of [Main].
const exitCodes = "Exit code: 0 after SIGTERM or Ctrl-C, 1 for an error."

// NewCommand creates a command without arguments. The command reads its configuration with config,
// after the flags are parsed, and calls run with it. If config fails, the command returns that
// error.
func NewCommand[C any](name, description string, sections cliflag.NamedFlagSets, config func() (C, error),
	run func(context.Context, C) error) *cobra.Command {
	command := &cobra.Command{
		Use:           name,
		Long:          description + "\n\n" + exitCodes,
		Args:          cobra.NoArgs,
		Version:       version.Get().Version, // --version
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(command *cobra.Command, _ []string) error {
			c, err := config()
			if err != nil {
				return err
			}
			return run(command.Context(), c)
		},
	}
	for _, section := range sections.FlagSets {
		command.Flags().AddFlagSet(section)
	}
	cliflag.SetUsageAndHelpFunc(command, sections, HelpColumns)
	return command
}

// Main runs a command until it ends, or until SIGINT or SIGTERM. It returns the exit code.
func Main(command *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logs.InitLogs()
	defer logs.FlushLogs()
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", command.Name(), err)
		return 1
	}
	return 0
}

// StartLogging configures logging. A process can do this only once.
func StartLogging(logging *logsapi.LoggingConfiguration) error {
	if err := logsapi.ValidateAndApply(logging, nil); err != nil {
		return fmt.Errorf("setting up logging: %w", err)
	}
	return nil
}
