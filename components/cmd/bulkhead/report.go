// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/render"
)

func newReportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "report",
		Short:   "Show a NodeIsolationReport, or compare two",
		Example: `  bulkhead report render report.yaml > report.html`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newReportRenderCommand())
	return cmd
}

const reportRenderHelp = `Render reads a file of kind NodeIsolationReport and prints it in another form.

-o html prints one page that needs no other file: verdict, profiles, rules with their evidence,
attacks. With --compare, the page has both reports side by side.
-o junit prints a test case for each rule: a failure if the rule does not hold, an error if it is
not proved, skipped if it is not applicable.
-o yaml checks the file and prints it again.

The command exits with 0 if it could read the reports, whatever their results are. Otherwise it
exits with 1. FILE can be - for standard input.`

// reportOptions are the flags of `bulkhead report render`.
type reportOptions struct {
	output, compare string
	links           []string
}

func newReportRenderCommand() *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "render FILE",
		Short: "Print a report as a page, as JUnit or as YAML",
		Long:  reportRenderHelp,
		Example: `  bulkhead report render report.yaml > report.html
  bulkhead report render report.yaml -o junit > junit.xml
  bulkhead report render in-tree.yaml --compare=hardened.yaml > compare.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	addOutputFlag(cmd, &o.output, "html", "junit", "yaml")
	cmd.Flags().StringVar(&o.compare, "compare", "", "A second report. The page then compares both, the second one "+
		"with the first.")
	cmd.Flags().StringSliceVar(&o.links, "links", nil, "Addresses of the pages of both reports, for links from the "+
		"comparison: --links=in-tree.html,hardened.html.")
	return cmd
}

func (o *reportOptions) run(cmd *cobra.Command, file string) error {
	switch {
	case o.compare != "" && o.output != "html":
		return fmt.Errorf("cannot compare reports in format %s: use -o html", o.output)
	case len(o.links) != 0 && (o.compare == "" || len(o.links) != 2):
		return errors.New("--links needs --compare, and two addresses with a comma between them")
	case file == "-" && o.compare == "-":
		return errors.New("cannot read standard input twice: give - only once")
	}
	report, err := readReport(file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch {
	case o.compare != "":
		second, err := readReport(o.compare, cmd.InOrStdin())
		if err != nil {
			return err
		}
		var links render.Links
		if len(o.links) > 0 {
			links = render.Links{First: o.links[0], Second: o.links[1]}
		}
		return render.CompareHTML(out, isolationreport.Compare(report, second), links)
	case o.output == "junit":
		return render.JUnit(out, report)
	case o.output == "yaml":
		text, err := report.Marshal()
		if err == nil {
			_, err = out.Write(text)
		}
		return err
	}
	return render.HTML(out, report)
}

func readReport(file string, stdin io.Reader) (report *nodeisolationreport.NodeIsolationReport, err error) {
	data, err := readInput(file, stdin, nodeisolationreport.MaxBytes>>20)
	if err == nil {
		report, err = nodeisolationreport.Parse(data)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the report %s: %w", file, err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the report %s: %w; give a file of kind %s, %s", file, err,
			nodeisolationreport.Kind, nodeisolationreport.APIVersion)
	}
	return report, nil
}
