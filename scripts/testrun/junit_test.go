// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ginkgoReport has the suites a and b. Suite c ended without a report.
const ginkgoReport = `<testsuites><testsuite name="A" package="/e2e/a">
	<testcase name="[BeforeSuite]"/><testcase name="[It] passes"/><testcase name="[It] passes/too"/>
	<testcase name="[It] fails"><failure message="Expected 1">[FAILED] Expected 1</failure></testcase>
	<testcase name="[AfterSuite]"><error message="panic"/></testcase>
</testsuite><testsuite name="B" package="/e2e/b">
	<testcase name="[It] is skipped"><skipped message="skipped - no host"/></testcase>
	<testcase name="[It] is excluded"><skipped message="skipped"/></testcase>
</testsuite></testsuites>`

const gotestsumReport = `<testsuites><testsuite name="p">
	<testcase name="TestPasses"/><testcase name="TestSkips"><skipped message="=== RUN TestSkips"/></testcase>
	<testcase name="TestParent"/><testcase name="TestParent/a/b"/><testcase name="TestParent/c"/>
	<testcase name="TestChildFails"><failure/></testcase>
	<testcase name="TestChildFails/a"><failure>wrong</failure></testcase>
	<testcase name="TestFailsItself"><failure/></testcase><testcase name="TestFailsItself/a"/>
</testsuite><testsuite name="q">
	<testcase name="TestMain"><failure>does not build</failure></testcase></testsuite></testsuites>`

func TestReadJUnit(t *testing.T) {
	for _, tc := range []struct {
		name, report string
		suites       []string
		want         count
		failure      string
	}{
		{"specs, and setup nodes that fail", ginkgoReport, []string{"a", "b"}, count{2, 2, 1},
			"FAILED A [It] fails\n[FAILED] Expected 1\n"},
		{"a suite without a report fails", ginkgoReport, []string{"a", "b", "c"}, count{2, 3, 1},
			"FAILED suite c\nthe suite ended without a report\n"},
		{"Go tests without subtests, and packages", gotestsumReport, nil, count{4, 3, 1},
			"FAILED q TestMain\ndoes not build\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "junit.xml")
			if err := os.WriteFile(file, []byte(tc.report), 0o600); err != nil {
				t.Fatal(err)
			}
			var r result
			if err := r.readJUnit(file, tc.suites...); err != nil || r.count != tc.want {
				t.Errorf("got %s, %v; want %s", r.count, err, tc.want)
			}
			if all := strings.Join(r.failures, ""); !strings.Contains(all, tc.failure) {
				t.Errorf("%q is not in %q", tc.failure, all)
			}
		})
	}
	if err := new(result).readJUnit(filepath.Join(t.TempDir(), "missing.xml")); err == nil {
		t.Error("no error for a missing report")
	}
}

func TestJudge(t *testing.T) {
	failed := errors.New("exit status 1")
	for _, tc := range []struct {
		name      string
		counted   count
		ran, read error
		completed bool
	}{
		{"all tests passed", count{passed: 1}, nil, nil, true},
		{"failed tests are in the report", count{failed: 1}, failed, nil, true},
		{"the program failed without a failed test", count{passed: 1}, failed, nil, false},
		{"the report cannot be read", count{}, nil, failed, false},
		{"no test ran", count{}, nil, nil, false},
	} {
		r := result{count: tc.counted}
		if err := r.judge(tc.ran, tc.read); (err == nil) != tc.completed {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
