// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/render"
)

func newCompareCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "compare FIRST.yaml SECOND.yaml",
		Short: "Write one HTML page that compares two reports",
		Long: `Compare writes one HTML page with the results of two reports side by side, for example of a cluster before and
after an installation. It asks no cluster.`,
		Example: "  bulkhead-conformance compare before/report.yaml after/report.yaml -o compare.html",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			verdict, err := compare(args[0], args[1], output)
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\nwritten to %s\n", verdict, output)
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "compare.html", "File to write.")
	return cmd
}

func compare(first, second, output string) (verdict string, err error) {
	before, err := readReport(first)
	if err != nil {
		return "", err
	}
	after, err := readReport(second)
	if err != nil {
		return "", err
	}
	c := isolationreport.Compare(before, after)
	links, err := linksFrom(output, first, second)
	if err != nil {
		return "", err
	}
	var page bytes.Buffer
	if err := render.CompareHTML(&page, c, links); err != nil {
		return "", fmt.Errorf("cannot compare the reports: %w", err)
	}
	if err := os.WriteFile(output, page.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("cannot write the comparison: %w", err)
	}
	return c.Verdict, nil
}

func readReport(file string) (*api.NodeIsolationReport, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read a report: %w", err)
	}
	report, err := api.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read the report %s: %w", file, err)
	}
	return report, nil
}

// linksFrom returns the links from the page to the pages beside the reports.
func linksFrom(page string, reports ...string) (links render.Links, err error) {
	var found [2]string
	for i, report := range reports {
		html := report[:len(report)-len(filepath.Ext(report))] + ".html"
		if found[i], err = relative(filepath.Dir(page), html); err != nil {
			return links, fmt.Errorf("cannot link %s: %w", html, err)
		}
	}
	return render.Links{First: found[0], Second: found[1]}, nil
}

func relative(from, to string) (string, error) {
	base, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	target, err := filepath.Abs(to)
	if err != nil {
		return "", err
	}
	path, err := filepath.Rel(base, target)
	return filepath.ToSlash(path), err
}
