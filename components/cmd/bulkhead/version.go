// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/internal/supported"
	"github.com/bulkhead-k8s/bulkhead/components/internal/version"
)

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program, and the Kubernetes versions that it supports",
		Example: "  bulkhead version -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printVersion(cmd.OutOrStdout(), output, version.Get())
		},
	}
	addOutputFlag(cmd, &output, "text", "json")
	return cmd
}

// versionDocument is the output of `bulkhead version -o json`.
type versionDocument struct {
	version.Info
	Kubernetes supportedVersions `json:"kubernetes"`
}

type supportedVersions struct {
	// Oldest is the oldest minor version that works. Tested are those on which all suites ran.
	Oldest string   `json:"oldest"`
	Tested []string `json:"tested"`
}

func printVersion(out io.Writer, format string, build version.Info) error {
	if format == "text" {
		_, err := fmt.Fprintf(out, "bulkhead %s (%s, %s)\ncommit %s (%s), of %s\n"+
			"tested on Kubernetes %s; needs %s or later\n", build.Version, build.GoVersion, build.Platform, build.Commit,
			build.TreeState, build.BuildDate, supported.TestedText(), supported.Oldest)
		return err
	}
	return printJSON(out, versionDocument{build, supportedVersions{supported.Oldest, supported.Tested()}})
}
