// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/apis/installation"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print, check and compare the configuration file of bulkhead install",
		Long: `Config works on files of kind Installation (bulkhead.dev/v1alpha1), which bulkhead
install --config reads. All control-plane hosts use the same file. FILE can be - for
standard input.`,
		Example: "  bulkhead config print > bulkhead.yaml\n" +
			"  bulkhead config validate bulkhead.yaml\n" +
			"  bulkhead config diff bulkhead.yaml",
	}
	cmd.AddCommand(newConfigPrintCommand(), newConfigValidateCommand(), newConfigDiffCommand())
	return cmd
}

func newConfigPrintCommand() *cobra.Command {
	var nodePolicy bool
	cmd := &cobra.Command{
		Use:   "print [FILE]",
		Short: "Print a file with the defaults of all absent fields, or the defaults alone",
		Long: `Print prints an Installation in which all fields with a default have a value, except
nodePolicy. --node-policy prints that field.`,
		Example: "  bulkhead config print > bulkhead.yaml\n" +
			"  bulkhead config print --node-policy >> bulkhead.yaml",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config := &installation.Installation{APIVersion: installation.APIVersion, Kind: installation.Kind}
			if len(args) == 1 {
				var err error
				if config, err = readConfig(args[0], cmd.InOrStdin()); err != nil {
					return err
				}
			}
			if nodePolicy {
				return printNodePolicy(cmd.OutOrStdout(), withDefaults(config).Profile)
			}
			return printConfig(cmd.OutOrStdout(), withDefaults(config))
		},
	}
	cmd.Flags().BoolVar(&nodePolicy, "node-policy", false,
		"Print only the field nodePolicy, with the policy that profile hardened has if the field is absent. A nodePolicy "+
			"replaces this policy as a whole: use it as the beginning of your own.")
	return cmd
}

// printNodePolicy prints the policy below the name of the field, so that it can be appended to a file.
func printNodePolicy(out io.Writer, profile string) error {
	if profile != string(controlplane.Hardened) {
		return fmt.Errorf("cannot print a nodePolicy of profile %s: it has none by default; use a file with profile: "+
			"hardened, or no file", profile)
	}
	policy, err := manifests.FS.ReadFile(manifests.RestrictionPolicy)
	if err != nil {
		return err
	}
	const head = "# The default of profile hardened. docs/configuration.md describes every field.\nnodePolicy:\n"
	if _, err := io.WriteString(out, head); err != nil {
		return err
	}
	// The comment above it is about the file on a host.
	policy = policy[max(0, bytes.Index(policy, []byte("apiVersion:"))):]
	for line := range bytes.Lines(policy) {
		if len(bytes.TrimSpace(line)) > 0 {
			line = append([]byte("  "), line...)
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func printConfig(out io.Writer, c *installation.Installation) error {
	data, err := c.Marshal()
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}

func newConfigValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a file, and list every problem with its line",
		Example: "  bulkhead config validate bulkhead.yaml\n" +
			"  bulkhead status -o yaml | bulkhead config validate -",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := readConfig(args[0], cmd.InOrStdin()); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "valid")
			return err
		},
	}
}

func newConfigDiffCommand() *cobra.Command {
	var common hostFlags
	cmd := &cobra.Command{
		Use:   "diff FILE",
		Short: "Compare a file with what is installed on this host",
		Long: `Diff prints one line for each field with another value: the field, the installed value and
the value in the file. It exits with 1 if there is a difference. The field timeout is not
part of an installation, so it is not compared.`,
		Example: "  bulkhead config diff bulkhead.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := readConfig(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			record, err := controlplane.ReadRecord(common.layout)
			if err != nil {
				return err
			}
			have, err := installedConfig(common.layout, record)
			if err != nil {
				return err
			}
			return printDiff(cmd.OutOrStdout(), have, want)
		},
	}
	common.addState(cmd.Flags())
	return cmd
}

// configDiff returns one line for each field with another value. If one of the two has no
// kubelet-auth-proxy, the settings of kubelet-auth-proxy are not compared.
func configDiff(have, want *installation.Installation) ([]string, error) {
	have, want = withDefaults(have), withDefaults(want)
	have.Timeout, want.Timeout = nil, nil
	if !guardsKubelets(have) || !guardsKubelets(want) {
		have.KubeletAPI = installation.KubeletAPI{Enabled: have.KubeletAPI.Enabled}
		want.KubeletAPI = installation.KubeletAPI{Enabled: want.KubeletAPI.Enabled}
	}
	return installation.Diff(have, want)
}

// printDiff returns an error if the two differ, so that a script sees it.
func printDiff(out io.Writer, have, want *installation.Installation) error {
	lines, err := configDiff(have, want)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	if len(lines) > 0 {
		fields := "fields differ"
		if len(lines) == 1 {
			fields = "field differs"
		}
		return fmt.Errorf("%d %s from what is installed on this host: apply the file with bulkhead install --config",
			len(lines), fields)
	}
	_, err = fmt.Fprintln(out, "no difference")
	return err
}
