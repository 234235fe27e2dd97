// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// TestEverythingCanBeMeasured goes through all of it with the programs as they are. How
// fast they are depends on what else the machine does, so nothing here asks for that.
func TestEverythingCanBeMeasured(t *testing.T) {
	t.Setenv("E2E_KUBECONFIG", "")
	t.Setenv("KUBECONFIG", "")
	root, err := filepath.Abs("../../../../..")
	if err != nil {
		t.Fatal(err)
	}
	plan := sides.Plan{Root: root, Runs: 1, Turn: 40 * time.Millisecond, Bytes: 1 << 20, Counted: 20, Streams: 8, Say: t.Logf}
	document, err := measure(t.Context(), plan, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range document.Rows() {
		switch {
		case strings.HasPrefix(row.What, "the kubelet's "):
			if row.Missed() || !strings.HasPrefix(row.Note, "not measured: no cluster") {
				t.Errorf("%s without a cluster: %+v", row.What, row)
			}
		case row.What == "audit lines lost":
			if row.Value != 0 || row.Note == "of 0" {
				t.Errorf("%s: %v %s", row.What, row.Value, row.Note)
			}
		case strings.HasPrefix(row.What, "cost of"), strings.HasPrefix(row.What, "each of"):
			// A difference, which may be anything where so little is measured.
		case !(row.Value > 0):
			t.Errorf("%s: %v", row.What, row.Value)
		}
	}
	checkPage(t, document)
}

// checkPage holds that the part and its curves get into the page, and that what others
// wrote stays.
func checkPage(t *testing.T, document *report.Document) {
	t.Helper()
	dir := t.TempDir()
	page := filepath.Join(dir, "performance.md")
	if err := os.WriteFile(page, []byte("# Performance\nof others\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, document); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"of others\n", "## The kubelet's API\n", "### Requests\n", "### Streams\n", "### What is asked of the API server\n", "](" + plot + ")", "not measured: no cluster"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Count(string(text), plot) != 1 {
		t.Error("the curves are not shown once")
	}
	svg, err := os.ReadFile(filepath.Join(dir, plot))
	if err != nil || !bytes.Contains(svg, []byte(">streams</text>")) || !bytes.Contains(svg, []byte(">callers</text>")) {
		t.Errorf("the curves lack an axis: error %v", err)
	}
}
