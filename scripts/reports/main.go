// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command reports writes the reports of the profiles in-tree and hardened, their comparison, and the
// front page, from the results of the last runs of the suites.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/render"
	"github.com/bulkhead-k8s/bulkhead/scripts/toolflag"
)

const help = `Reports writes the reports of the profiles in-tree and hardened, their comparison, and the front page. It
reads the results of the last runs of the suites. If results are missing, it writes nothing.

Before it: make up PROFILE=in-tree && make e2e && make up && make e2e

Examples:
  make reports
  go run ./scripts/reports -output=/tmp/reports
  go run ./scripts/reports -profile=hardened
  go run ./scripts/reports -pages

Exit code: 0 if all files are written; 1 for an error.

Flags:
`

func main() {
	o, err := parse(os.Stdout, os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// options are the flags of the command.
type options struct {
	results, output, profile string
	pages                    bool
}

// makes reports whether the report of the profile is made from results. Otherwise it is read.
func (o options) makes(profile string) bool {
	return !o.pages && (o.profile == "" || o.profile == profile)
}

// profiles are the profiles that have a report, in the order of the comparison.
var profiles = []string{"in-tree", "hardened"}

func parse(out io.Writer, args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("reports", flag.ContinueOnError)
	flags.StringVar(&o.results, "results", filepath.Join("_output", "e2e"),
		"Folder with a folder of results for each profile.")
	flags.StringVar(&o.output, "output", "docs", "Folder to write index.html and reports/ to.")
	flags.StringVar(&o.profile, "profile", "", "Make only the report of this profile. The other report in the folder "+
		"-output stays, and the pages are made again.")
	flags.BoolVar(&o.pages, "pages", false, "Write only the pages again, from the YAML files in the folder -output.")
	if err := toolflag.Parse(out, help, flags, args); err != nil {
		return o, err
	}
	if o.profile != "" && !slices.Contains(profiles, o.profile) {
		return o, fmt.Errorf("unknown profile %q: want %s", o.profile, strings.Join(profiles, " or "))
	}
	return o, nil
}

// run makes all files, and writes them only if all could be made.
func run(o options) error {
	var reports []*api.NodeIsolationReport
	var errs []error
	for _, profile := range profiles {
		report, err := o.report(profile)
		reports, errs = append(reports, report), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	first, second := reports[0], reports[1]
	c := isolationreport.Compare(first, second)
	files, err := pages(c)
	if err != nil {
		return err
	}
	for _, report := range reports {
		if !o.makes(report.Metadata.Profile) {
			continue
		}
		text, err := report.Marshal()
		if err != nil {
			return err
		}
		files[yamlFile(report.Metadata.Profile)] = append([]byte(yamlHeader), text...)
	}
	if err := os.MkdirAll(filepath.Join(o.output, "reports"), 0o755); err != nil {
		return fmt.Errorf("cannot make the folder of the reports: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(o.output, name), text, 0o644); err != nil {
			return fmt.Errorf("cannot write the reports: %w", err)
		}
	}
	fmt.Printf("in-tree:  %s\nhardened: %s\nboth:     %s\nwritten to %s\n", first.Summary.Verdict, second.Summary.Verdict,
		c.Verdict, o.output)
	return nil
}

// pages makes the pages of two reports, by the names of their files.
func pages(c *isolationreport.Comparison) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, report := range []*api.NodeIsolationReport{c.First, c.Second} {
		var page bytes.Buffer
		if err := render.HTML(&page, report); err != nil {
			return nil, err
		}
		files[filepath.Join("reports", report.Metadata.Profile+".html")] = page.Bytes()
	}
	var page, front bytes.Buffer
	err := errors.Join(
		render.CompareHTML(&page, c, render.Links{First: "in-tree.html", Second: "hardened.html"}),
		render.FrontPage(&front, c, "reports"))
	files[filepath.Join("reports", "compare.html")], files["index.html"] = page.Bytes(), front.Bytes()
	return files, err
}

func yamlFile(profile string) string { return filepath.Join("reports", profile+".yaml") }

// report makes the report of a profile from results, or reads it from the folder of the reports.
func (o options) report(profile string) (*api.NodeIsolationReport, error) {
	var report *api.NodeIsolationReport
	var err error
	if o.makes(profile) {
		report, err = build(filepath.Join(o.results, profile))
	} else {
		report, err = read(o.output, profile)
	}
	if err == nil && report.Metadata.Profile != profile {
		err = fmt.Errorf("the results are of profile %s", report.Metadata.Profile)
	}
	switch {
	case err == nil:
		return report, nil
	case !o.makes(profile):
		return nil, fmt.Errorf("cannot read the report of %s: %w\nMake it again: make reports", profile, err)
	}
	return nil, fmt.Errorf("cannot make the report of %s: %w\nMake the results: make up PROFILE=%s, then make e2e",
		profile, err, profile)
}

// read reads a report that an earlier run wrote to the folder.
func read(folder, profile string) (*api.NodeIsolationReport, error) {
	text, err := os.ReadFile(filepath.Join(folder, yamlFile(profile)))
	if err != nil {
		return nil, err
	}
	return api.Parse(text)
}

const yamlHeader = `# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
# Made by make reports. Do not edit.
`

func build(folder string) (*api.NodeIsolationReport, error) {
	results, err := isolationreport.Read(folder)
	if err != nil {
		return nil, err
	}
	report, err := isolationreport.Build(isolationreport.Groups(), results)
	if err != nil {
		return nil, err
	}
	if missing := isolationreport.Missing(report); len(missing) > 0 {
		return nil, fmt.Errorf("the results in %s have no spec of %d rules: %s", folder, len(missing),
			strings.Join(missing[:min(len(missing), 10)], ", "))
	}
	return report, nil
}
