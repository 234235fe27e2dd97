// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/fixture"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

// writeResults writes invented results, as the suites do.
func writeResults(t *testing.T, folder, profile string, without ...string) {
	t.Helper()
	for _, one := range fixture.Results(profile) {
		if slices.Contains(without, one.Suite) {
			continue
		}
		file := filepath.Join(folder, profile, "rules", one.Suite+isolationreport.ResultsSuffix)
		if err := one.Write(file); err != nil {
			t.Fatal(err)
		}
	}
}

// bothReports writes results of both profiles, and makes the reports of them.
func bothReports(t *testing.T) (results, output string) {
	t.Helper()
	results, output = t.TempDir(), t.TempDir()
	writeResults(t, results, "in-tree")
	writeResults(t, results, "hardened")
	if err := run(options{results: results, output: output}); err != nil {
		t.Fatal(err)
	}
	return results, output
}

func TestReportsOfBothProfiles(t *testing.T) {
	results, output := bothReports(t)
	first := map[string]string{}
	for _, name := range []string{"index.html", "reports/in-tree.yaml", "reports/in-tree.html", "reports/hardened.yaml",
		"reports/hardened.html", "reports/compare.html"} {
		text, err := os.ReadFile(filepath.Join(output, name))
		if err != nil {
			t.Fatal(err)
		}
		first[name] = string(text)
	}
	if _, err := nodeisolationreport.Parse([]byte(first["reports/hardened.yaml"])); err != nil {
		t.Errorf("the report cannot be read again: %v", err)
	}
	for _, link := range []string{"in-tree.html", "hardened.html", "compare.html", "hardened.yaml"} {
		if !strings.Contains(first["index.html"], `"reports/`+link+`"`) {
			t.Errorf("the front page has no link to %s", link)
		}
	}
	if err := run(options{results: results, output: output}); err != nil {
		t.Fatal(err)
	}
	for name, before := range first {
		if after, err := os.ReadFile(filepath.Join(output, name)); err != nil || string(after) != before {
			t.Errorf("%s differs in a second run: %v", name, err)
		}
	}
}

// TestPagesOfReportsThatExist: the YAML files are enough to write the pages again.
func TestPagesOfReportsThatExist(t *testing.T) {
	results, output := t.TempDir(), t.TempDir()
	if err := run(options{output: output, pages: true}); err == nil || !strings.Contains(err.Error(), "make reports") {
		t.Errorf("without reports: %v", err)
	}
	writeResults(t, results, "in-tree")
	writeResults(t, results, "hardened")
	if err := run(options{results: results, output: output}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "reports/in-tree.html", "reports/hardened.html", "reports/compare.html"} {
		file := filepath.Join(output, name)
		want, err := os.ReadFile(file)
		if err := errors.Join(err, os.Remove(file)); err != nil {
			t.Fatal(err)
		}
		if err := run(options{output: output, pages: true}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the page of the results: %v", name, err)
		}
	}
}

// TestReportOfOneProfile: without results of in-tree, its report stays as it is.
func TestReportOfOneProfile(t *testing.T) {
	results, output := bothReports(t)
	of := func(profile string) string {
		text, err := os.ReadFile(filepath.Join(output, yamlFile(profile)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := of("in-tree")
	if err := os.RemoveAll(filepath.Join(results, "in-tree")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(output, yamlFile("hardened")), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(options{results: results, output: output, profile: "hardened"}); err != nil {
		t.Fatal(err)
	}
	if of("in-tree") != before {
		t.Error("the report of in-tree has changed")
	}
	if of("hardened") == "" {
		t.Error("the report of hardened was not made")
	}
	if _, err := parse(io.Discard, []string{"-profile=parity"}); err == nil ||
		!strings.Contains(err.Error(), "in-tree or hardened") {
		t.Errorf("another profile: %v", err)
	}
}

func TestReportsWithoutResults(t *testing.T) {
	for _, tc := range []struct {
		name  string
		write func(t *testing.T, folder string)
		want  []string
	}{
		{"nothing ran", func(*testing.T, string) {}, []string{"report of in-tree", "report of hardened", "make e2e"}},
		{"one profile ran", func(t *testing.T, folder string) { writeResults(t, folder, "hardened") },
			[]string{"report of in-tree: cannot read", "make up PROFILE=in-tree, then make e2e"}},
		{"a suite did not run", func(t *testing.T, folder string) {
			writeResults(t, folder, "in-tree")
			writeResults(t, folder, "hardened", "kubeletapi")
		}, []string{"report of hardened", fmt.Sprintf("no spec of %d rules: KA-", len(kubeletauth.Rules))}},
		{"a file is damaged", func(t *testing.T, folder string) {
			writeResults(t, folder, "in-tree")
			writeResults(t, folder, "hardened")
			file := filepath.Join(folder, "hardened", "rules", "attacks"+isolationreport.ResultsSuffix)
			if err := os.WriteFile(file, []byte(`{"suite": "attacks"`), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"cannot read results from", "attacks.results.json"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			results, output := t.TempDir(), t.TempDir()
			tc.write(t, results)
			err := run(options{results: results, output: output})
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
			if files, _ := os.ReadDir(output); len(files) > 0 {
				t.Errorf("%d files were written", len(files))
			}
		})
	}
}
