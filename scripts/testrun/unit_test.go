// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNestedModulesAreTestedFirst: the long tests of the root module come last.
func TestNestedModulesAreTestedFirst(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	j := &job{root: root}
	tests, err := j.unracedTests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, test := range tests {
		got = append(got, test.name)
	}
	want := []string{
		"tests of components/conformance/clusterapi", "tests of components/conformance",
		"tests of components/isolationreport/browser", "tests of components/monitoring", "tests of kind/registrytest",
		"tests of scripts/release", "unit tests",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order of the unit tests (-want +got):\n%s", diff)
	}
}

// TestBrowserTestsReadTheVariable: the tests of the pages are in another module.
func TestBrowserTestsReadTheVariable(t *testing.T) {
	text, err := os.ReadFile("../../components/isolationreport/browser/browser_test.go")
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(browserRequired, "=")
	if !strings.Contains(string(text), `"`+name+`"`) {
		t.Errorf("the tests of the pages do not read %s", name)
	}
}
