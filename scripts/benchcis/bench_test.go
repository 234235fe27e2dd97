// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func texts(t *testing.T) reasons {
	t.Helper()
	r, err := readReasons(".")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The page that is in the repository has a reason for each warning that was found, and no other.
func TestPageHasTheReasons(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "benchmark-cis.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, warnings, _ := strings.Cut(string(raw), "## Warnings\n")
	var ids []string
	for _, match := range regexp.MustCompile(`(?m)^### ([0-9.]+)$`).FindAllStringSubmatch(warnings, -1) {
		ids = append(ids, match[1])
	}
	r := texts(t)
	if !slices.Equal(ids, r.ids()) {
		t.Errorf("the page has warnings %v, and reasons.yaml %v: run make bench-cis", ids, r.ids())
	}
	for id, reason := range r.Warnings {
		if !strings.Contains(warnings, wrapped(reason)) {
			t.Errorf("the page has another reason for %s: run make bench-cis", id)
		}
	}
}

func TestParseChecks(t *testing.T) {
	const output = `{"Controls":[{"tests":[{"results":[{"test_number":"1.2.10","status":"PASS"},` +
		`{"test_number":"1.2.9","status":"WARN","test_desc":"x"}]}]},{"tests":[{"results":[{"test_number":"1.1.1",` +
		`"status":"FAIL"}]}]}],"Totals":{}}`
	checks, err := parseChecks([]byte(output))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range checks {
		ids = append(ids, c.ID+" "+string(c.Status))
	}
	if want := []string{"1.1.1 FAIL", "1.2.9 WARN", "1.2.10 PASS"}; !slices.Equal(ids, want) {
		t.Errorf("%v, not %v", ids, want)
	}
	for _, invalid := range []string{"", "{", "[]", "{}", `{"Controls":[{}]}`} {
		if checks, err := parseChecks([]byte(invalid)); err == nil {
			t.Errorf("%q: %v", invalid, checks)
		}
	}
}

func TestProblems(t *testing.T) {
	known := reasons{
		Warnings: map[string]string{"1.2.1": "because"},
		Override: map[string]string{"1.2.6": "x"}, Failures: map[string]string{"1.2.6": "because"},
	}
	warning, flag := check{ID: "1.2.1", Status: warn}, check{ID: "1.2.6", Status: fail}
	passes := check{ID: "1.2.6", Status: pass}
	for _, tc := range []struct {
		name string
		result
		want string
	}{
		{"no problem", result{controlPlane: []check{warning}}, ""},
		{"a failed check that passes with the override",
			result{controlPlane: []check{warning, flag}, override: []check{warning, passes}}, ""},
		{"a failed check that fails with the override too",
			result{controlPlane: []check{warning, flag}, override: []check{warning, flag}}, "1.2.6 fails"},
		{"the override counts, and passes",
			result{controlPlane: []check{warning, flag}, override: []check{warning, passes}, overridden: true}, ""},
		{"a failed check without an override",
			result{controlPlane: []check{warning, {ID: "1.3.2", Status: fail}}, override: []check{{ID: "1.3.2", Status: pass}}},
			"1.3.2 fails"},
		{"a failed check on the worker", result{controlPlane: []check{warning}, worker: []check{{ID: "4.1.1", Status: fail}}},
			"4.1.1 fails"},
		{"a warning without a reason", result{controlPlane: []check{warning}, worker: []check{{ID: "4.2.9", Status: warn}}},
			"4.2.9 warns"},
		{"a reason without a warning", result{controlPlane: []check{{ID: "1.2.1", Status: pass}}}, "does not warn"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.problems(known)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, not %q", err, tc.want)
			}
		})
	}
}

func TestCopyChecks(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	const file = "groups:\n- checks:\n  - id: 1.2.6\n    audit: old\n    tests: kept\n  - id: 1.2.7\n    audit: old\n"
	for name, text := range map[string]string{"config.yaml": "x: y\n", benchmark + "/master.yaml": file} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name     string
		override map[string]string
		want     string
	}{
		{"unmodified, byte for byte", nil, file},
		{"one check with another audit", map[string]string{"1.2.6": "new"},
			"groups:\n- checks:\n  - audit: new\n    id: 1.2.6\n    tests: kept\n  - audit: old\n    id: 1.2.7\n"},
		{"a check that does not exist", map[string]string{"9.9.9": "new"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := copyChecks(from, to, tc.override)
			if (err != nil) != (tc.want == "") {
				t.Fatal(err)
			}
			raw, readErr := os.ReadFile(filepath.Join(to, benchmark, "master.yaml"))
			if err == nil && string(raw) != tc.want {
				t.Errorf("%s, error %v", raw, readErr)
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	r := result{
		controlPlane: []check{{ID: "1.2.6", Status: fail}, {ID: "1.3.2", Status: fail}},
		override:     []check{{ID: "1.2.6", Status: pass}, {ID: "1.3.2", Status: fail}},
	}
	if got := r.verdict(); !strings.HasPrefix(got, "Result: 2 FAIL, of which 1 pass with the override") {
		t.Error(got)
	}
	r.overridden = true
	if got := r.verdict(); got != "Result: 1 FAIL, with the override" {
		t.Error(got)
	}
	if got := (result{worker: []check{{ID: "4.1.1", Status: pass}}}).verdict(); got != "Result: 0 FAIL" {
		t.Error(got)
	}
}

func TestWrapped(t *testing.T) {
	long := strings.Repeat("a ", 49)
	for text, want := range map[string]string{
		"one two":              "one two",
		long + "b cd":          long + "b\ncd",
		long + "b `c d`.":      long + "b\n`c d`.",
		long + "(`c d`, `e f`": strings.TrimSpace(long) + "\n(`c d`, `e f`",
	} {
		if got := wrapped(text); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestPage(t *testing.T) {
	r := result{
		version: "v1", kubernetes: "v2",
		controlPlane: []check{{ID: "1.2.1", Text: "Anonymous", Status: warn}, {ID: "1.2.6", Text: "Mode", Status: fail}},
		override:     []check{{ID: "1.2.6", Text: "Mode", Status: pass, Actual: "--authorization-mode=Node"}},
		worker:       []check{{ID: "4.1.1", Status: pass}},
	}
	known := reasons{Warnings: map[string]string{"1.2.1": "Because of joins."},
		Override: map[string]string{"1.2.6": "x"}, Failures: map[string]string{"1.2.6": "A flag."}}
	got := string(page(r, known, time.Unix(0, 0)))
	for _, want := range []string{
		"| control plane | 0 | 1 | 1 |", "| control plane, with the override | 1 | 0 | 0 |", "| worker | 1 | 0 | 0 |",
		"### 1.2.1\n\nAnonymous.\n\nBecause of joins.\n", "### 1.2.6\n\nMode.\n\nA flag.\n", "1970-01-01",
		"- with the override: PASS, found `--authorization-mode=Node`",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	for _, id := range slices.Collect(maps.Keys(known.Warnings)) {
		if strings.Count(got, "### "+id+"\n") != 1 {
			t.Errorf("%s is not there once", id)
		}
	}
}
