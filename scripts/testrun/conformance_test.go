// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestJudgeReport(t *testing.T) {
	published := func(profile string) string { return "../../docs/reports/" + profile + ".yaml" }
	for _, tc := range []struct {
		name, profile, report string
		code                  int
		without, problem      string
	}{
		{"everything is enforced", "hardened", published("hardened"), 0, "", ""},
		{"upstream's rules are enforced", "in-tree", published("in-tree"), 2, "", ""},
		{"hardened, but exit code 2", "hardened", published("hardened"), 2, "", "the exit code is 2"},
		{"in-tree, but exit code 0", "in-tree", published("in-tree"), 0, "", "the exit code is 0"},
		{"not everything is enforced in hardened", "hardened", published("in-tree"), 2, "", "of profile in-tree"},
		{"hardened, but an error", "hardened", published("hardened"), 1, "", "the exit code is 1"},
		{"page is missing", "hardened", published("hardened"), 0, "report.html", "no such file"},
		{"report is missing", "hardened", published("hardened"), 1, "report.yaml", "no such file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			text, err := os.ReadFile(tc.report)
			if err != nil {
				t.Fatal(err)
			}
			for name, content := range map[string][]byte{"report.yaml": text, "report.html": {'.'}, "report.junit.xml": {'.'}} {
				if name == tc.without {
					continue
				}
				if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ran := exec.Command("sh", "-c", fmt.Sprintf("exit %d", tc.code)).Run()
			err = judgeReport(tc.profile, folder, ran)
			if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("%v, want %q", err, tc.problem)
			}
		})
	}
	t.Run("program does not start", func(t *testing.T) {
		if err := judgeReport("hardened", t.TempDir(), errors.New("not found")); err == nil || err.Error() != "not found" {
			t.Error(err)
		}
	})
}
