// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/doctor"
)

func TestDoctorOutputs(t *testing.T) {
	r := &doctor.Report{Findings: []doctor.Finding{{Severity: doctor.Soon, Check: "audit", Names: []string{"cp1"},
		Problem: "p", Means: "m", Repair: "r"}}, Soon: 1}
	for _, format := range []string{"table", "json", "yaml"} {
		var out strings.Builder
		if err := printDoctor(&out, r, format); !errors.Is(err, errReported) || exitCode(err) != 2 {
			t.Errorf("%s: error %v with exit code %d, want 2", format, err, exitCode(err))
		}
		var back doctor.Report
		switch format {
		case "json":
			if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back.Findings[0].Names[0] != "cp1" {
				t.Errorf("%v: %s", err, out.String())
			}
		case "yaml":
			if err := yaml.Unmarshal([]byte(out.String()), &back); err != nil || back.Soon != 1 {
				t.Errorf("%v: %s", err, out.String())
			}
		default:
			if !strings.HasSuffix(out.String(), "\n0 urgent, 1 soon, 0 notes\n") {
				t.Error(out.String())
			}
		}
	}
	healthy := &doctor.Report{Notes: 1}
	if err := printDoctor(&strings.Builder{}, healthy, "table"); err != nil {
		t.Errorf("only a note: error %v, want none", err)
	}
}

// TestDoctorWithoutRights: nothing can be read but the version, so nothing is healthy.
func TestDoctorWithoutRights(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Path == "/version" {
			_, _ = fmt.Fprint(w, `{"gitVersion":"v1.37.0"}`)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	}))
	kubeconfig := kubeconfigFor(t, server.URL)
	out, err := runDoctor(t, "--kubeconfig="+kubeconfig)
	if exitCode(err) != 2 || !strings.Contains(out, "not checked: cannot list Nodes: ") ||
		strings.Contains(out, "topsecret") {
		t.Errorf("error %v, output:\n%s", err, out)
	}
	server.Close()
	out, err = runDoctor(t, "--kubeconfig="+kubeconfig)
	if err == nil || exitCode(err) != 1 || !strings.HasPrefix(err.Error(), "cannot check the cluster: ") || out != "" {
		t.Errorf("without an API server: error %v, output %q", err, out)
	}
}

func runDoctor(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := newDoctorCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestDoctorFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-o xml":            `"-o, --output" flag: use table, json or yaml`,
		"--host-timeout=0s": "invalid --host-timeout=0s",
	} {
		cmd := newDoctorCommand()
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(strings.Fields(args))
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", args, err, want)
		}
	}
}

func TestFixIsAppliedOnlyAfterAnAnswer(t *testing.T) {
	for _, tc := range []struct {
		name, fix, input string
		yes, changed     bool
		says             string
	}{
		{"yes", "lease", "y\n", false, true, "  delete it\napply it? [y/N]   done\n"},
		{"no", "lease", "n\n", false, false, "not applied"},
		{"no answer", "lease", "", false, false, "not applied"},
		{"--yes", "lease", "", true, true, "  delete it\n  done"},
		{"all", "all", "", true, true, "done"},
		{"another one", "objects", "y\n", false, false, "nothing to fix"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			applied := 0
			fixes := []doctor.Fix{{Name: "lease", Steps: []string{"delete it"},
				Apply: func(context.Context) error { applied++; return nil }}}
			var out strings.Builder
			changed, err := fixDialog{strings.NewReader(tc.input), &out, tc.yes}.apply(t.Context(), fixes, tc.fix)
			if err != nil || changed != tc.changed || (applied == 1) != tc.changed || !strings.Contains(out.String(), tc.says) {
				t.Errorf("changed %v, applied %d times, error %v: %q", changed, applied, err, out.String())
			}
		})
	}
	var out strings.Builder
	if _, err := (fixDialog{strings.NewReader(""), &out, true}).apply(t.Context(), nil, "pods"); err == nil {
		t.Error("an unknown fix is accepted")
	}
}

// TestDoctorDocsHaveEveryCheck compares the table of docs/operations.md with the checks.
func TestDoctorDocsHaveEveryCheck(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Check an installation: bulkhead doctor\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, table, _ := strings.Cut(section, "\n| check | looks at |\n")
	if !found {
		t.Fatal("docs/operations.md has no section about bulkhead doctor")
	}
	var want []string
	for _, c := range doctor.Checks() {
		want = append(want, "| `"+c.ID+"` | "+c.Description+" |")
	}
	got := regexp.MustCompile("(?m)^\\| `[a-z]+` \\| .*$").FindAllString(table, -1)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("docs/operations.md has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, fix := range doctor.FixNames {
		if !strings.Contains(section, "--fix="+fix) {
			t.Errorf("docs/operations.md does not describe --fix=%s", fix)
		}
	}
}
