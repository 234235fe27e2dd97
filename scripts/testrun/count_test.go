// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCountEvents(t *testing.T) {
	for _, tc := range []struct {
		name, events string
		want         count
	}{
		{"a test without subtests counts, and its package does not",
			`{"Action":"pass","Package":"p","Test":"A"}{"Action":"pass","Package":"p"}`, count{passed: 1}},
		{"of a test with subtests only these count",
			`{"Action":"pass","Package":"p","Test":"A/b"}{"Action":"pass","Package":"p","Test":"A/c"}{"Action":"pass","Package":"p","Test":"A"}`, count{passed: 2}},
		{"a failure counts once, whatever fails with it",
			`{"Action":"fail","Package":"p","Test":"A/b"}{"Action":"fail","Package":"p","Test":"A"}{"Action":"fail","Package":"p"}`, count{failed: 1}},
		{"a parent that fails by itself counts",
			`{"Action":"pass","Package":"p","Test":"A/b"}{"Action":"fail","Package":"p","Test":"A"}{"Action":"fail","Package":"p"}`, count{passed: 1, failed: 1}},
		{"a package that fails without a test counts", `{"Action":"fail","Package":"p"}`, count{failed: 1}},
		{"a package that does not build is a failure", `{"Action":"build-fail","ImportPath":"p"}`, count{failed: 1}},
		{"a skip counts", `{"Action":"skip","Package":"p","Test":"A"}`, count{skipped: 1}},
		{"a package without tests does not", `{"Action":"skip","Package":"p"}`, count{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := countEvents(strings.NewReader(tc.events), io.Discard)
			if err != nil || got != tc.want {
				t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
	if _, err := countEvents(strings.NewReader("panic: no JSON"), io.Discard); err == nil {
		t.Error("output that is no JSON was counted")
	}
}

func TestCountJUnit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "junit.xml")
	const report = `<testsuites><testsuite>
		<testcase name="[BeforeSuite]"/><testcase name="[It] passes"/>
		<testcase name="[It] fails"><failure message="Expected 1">to be 2</failure></testcase><testcase name="[It] panics"><error/></testcase>
	</testsuite><testsuite>
		<testcase name="[It] is skipped"><skipped message="skipped - no host"/></testcase>
		<testcase name="[It] is left out"><skipped message="skipped"/></testcase>
	</testsuite></testsuites>`
	if err := os.WriteFile(file, []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := countJUnit(file)
	if want := (count{passed: 1, failed: 2, skipped: 1}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	var told strings.Builder
	printFailures(&told, []string{file, file + ".missing"})
	if want := "\nFAILED [It] fails\nExpected 1\nto be 2\n\nFAILED [It] panics\n\n"; told.String() != want {
		t.Errorf("told %q, want %q", told.String(), want)
	}
	if _, err := countJUnit(file + ".missing"); err == nil {
		t.Error("a missing report was counted")
	}
}
