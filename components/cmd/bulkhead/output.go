// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// outputFormat is the value of -o: one of the formats of a command.
type outputFormat struct {
	value   *string
	formats []string
}

// addOutputFlag adds -o to a command. The first format is the default.
func addOutputFlag(cmd *cobra.Command, value *string, formats ...string) {
	*value = formats[0]
	format := outputFormat{value, formats}
	cmd.Flags().VarP(format, outputFlag, "o", "Output format: "+format.choices()+".")
	_ = cmd.RegisterFlagCompletionFunc(outputFlag, cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// outputFlag is the name of the flag.
const outputFlag = "output"

func (f outputFormat) choices() string {
	last := len(f.formats) - 1
	return strings.Join(f.formats[:last], ", ") + " or " + f.formats[last]
}

func (f outputFormat) String() string {
	if f.value == nil {
		return ""
	}
	return *f.value
}

func (f outputFormat) Set(value string) error {
	if !slices.Contains(f.formats, value) {
		return errors.New("use " + f.choices())
	}
	*f.value = value
	return nil
}

// Type is how pflag shows the value in --help.
func (outputFormat) Type() string { return "string" }

// printStructured prints JSON or YAML.
func printStructured(out io.Writer, output string, value any) error {
	if output == "json" {
		return printJSON(out, value)
	}
	data, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
