// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tableRow matches a row of an alert that fired and was resolved.
var tableRow = regexp.MustCompile(`(?m)^\| (Bulkhead.+) \| \d+ s(?: at the second attempt)? \| \d+ s \|$`)

// TestThePageIsOfThisPlan: a run writes docs/alerts.md. So the page is old if the plan has changed.
func TestThePageIsOfThisPlan(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows, want []string
	for _, row := range tableRow.FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, row[1])
	}
	for _, b := range allPhases(&cluster{controlPlane: "bulkhead-control-plane", worker: "bulkhead-worker"}).all() {
		want = append(want, b.names()...)
		if !strings.Contains(string(page), b.described()) {
			t.Errorf("the page does not have this break as it is: run make alerts\n%s", b.described())
		}
	}
	slices.Sort(rows)
	slices.Sort(want)
	if !slices.Equal(rows, want) {
		t.Errorf("the page has\n%s\nand the plan\n%s\nrun make alerts", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}
