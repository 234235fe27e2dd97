// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissedBarsAreCounted(t *testing.T) {
	start := "BenchmarkStart/program=node-authorizer-2 1 1 ns/op 5 ready-s "
	heap := func(bulkhead string) string {
		return "BenchmarkGraph/subject=bulkhead-2 1 1 ns/op 100000 pods " + bulkhead + " heap-MB\n" +
			"BenchmarkGraph/subject=in-tree-2 1 1 ns/op 100000 pods 100 heap-MB"
	}
	for _, tc := range []struct {
		name, results string
		missed        int
	}{
		{"memory below the bar", start + "100000 pods 249 peak-rss-MB", 0},
		{"memory above the bar", start + "100000 pods 251 peak-rss-MB", 1},
		{"memory of a small cluster", start + "2000 pods 251 peak-rss-MB", 0},
		{"ratio below the bar", heap("33"), 0},
		{"ratio above the bar", heap("34"), 1},
		{"nothing measured", "PASS", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			if missed := writeTables(&out, parse(tc.results)); missed != tc.missed {
				t.Errorf("%d bars are missed, want %d:\n%s", missed, tc.missed, out.String())
			}
		})
	}
}

func TestPageKeepsItsText(t *testing.T) {
	dir := t.TempDir()
	input, page := filepath.Join(dir, "results"), filepath.Join(dir, "page.md")
	for file, text := range map[string]string{
		input: "cpu: fast\nBenchmarkProxyStream/subject=bare-2 1 1 ns/op 10 MB/s\n",
		page:  "before\n" + begin + "old\n" + end + "after\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := report(input, page); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(got)
	if !strings.HasPrefix(text, "before\n"+begin) || !strings.HasSuffix(text, end+"after\n") ||
		strings.Contains(text, "old") ||
		!strings.Contains(text, "| ProxyStream/subject=bare | MB/s | 10.0 |") ||
		!strings.Contains(text, "fast") {
		t.Errorf("the page is\n%s", text)
	}
}
