// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/fixture"
)

func TestReportRender(t *testing.T) {
	dir := t.TempDir()
	for _, profile := range []string{"in-tree", "hardened"} {
		report, err := isolationreport.Build(isolationreport.Groups(), fixture.Results(profile))
		if err != nil {
			t.Fatal(err)
		}
		text, err := report.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, profile+".yaml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("apiVersion: v1\nkind: Pod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := filepath.Join(dir, "in-tree.yaml"), filepath.Join(dir, "hardened.yaml")
	for _, tc := range []struct {
		name      string
		args      []string
		want, err string
	}{
		{"page", []string{second}, "<title>Node isolation report: hardened</title>", ""},
		{"JUnit", []string{second, "-o", "junit"}, `<testsuite name="NodeAuthorizer"`, ""},
		{"YAML", []string{second, "-o", "yaml"}, "kind: NodeIsolationReport", ""},
		{"comparison", []string{first, "--compare", second, "--links=a.html,b.html"}, `href="b.html#NA-SECRET-1"`, ""},
		{"unknown format", []string{second, "-o", "pdf"}, "", `"-o, --output" flag: use html, junit or yaml`},
		{"JUnit of two", []string{first, "--compare", second, "-o", "junit"}, "", "cannot compare reports in format junit"},
		{"links without a comparison", []string{first, "--links=a,b"}, "", "--links needs --compare"},
		{"standard input twice", []string{"-", "--compare=-"}, "", "give - only once"},
		{"no file", []string{filepath.Join(dir, "absent.yaml")}, "", "cannot read the report"},
		{"another kind", []string{bad}, "", `kind is "Pod"; this program supports only NodeIsolationReport`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			cmd := newRootCommand()
			cmd.SetOut(&out)
			cmd.SetArgs(append([]string{"report", "render"}, tc.args...))
			err := cmd.Execute()
			if !strings.Contains(out.String(), tc.want) {
				t.Errorf("the output lacks %s", tc.want)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}
