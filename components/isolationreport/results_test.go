// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResultsReadAsTheyAreWritten(t *testing.T) {
	folder := t.TempDir()
	want := run("hardened", answering(denies("NA-A-1"), Answer{User: "u", Request: "get", Code: 403}),
		in(Skipped, "m", allows("NA-A-1")))
	want.Started = want.Started.UTC()
	other := run("hardened", allows("NA-A-1"))
	other.Suite = "attacks"
	for name, r := range map[string]Results{"disruptive/b": want, "a": other} {
		if err := r.Write(filepath.Join(folder, name+ResultsSuffix)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(folder)
	if err != nil || len(got) != 2 || got[0].Suite != "attacks" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFolderWithoutResults(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, ErrNoResults) {
		t.Errorf("got %v", err)
	}
}

func TestDamagedResults(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "EOF"},
		{"truncated", `{"suite":"s","specs":[{`, "EOF"},
		{"unknown field", `{"suit":"s"}`, "unknown field"},
		{"unknown state", `{"suite":"s","specs":[{"text":"x","state":"fine"}]}`, `spec "x" has the invalid state "fine"`},
		{"another text after it", `{"suite":"s","specs":[]} {}`, "text after the results"},
		{"another type", `[]`, "cannot unmarshal array"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "s"+ResultsSuffix), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(folder); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := parse(make([]byte, maxResults+1)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("too large: %v", err)
	}
}

func TestCleanTexts(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"plain", " a\nb\tc ", "a\nb c"},
		{"terminal escape and a change of direction", "a\x1b[2Jb\u202ec", "a\ufffd[2Jb\ufffdc"},
		{"invalid UTF-8", "a\xffb", "a\ufffdb"},
		{"long, cut between characters", "xäääääääääää", "xäääääää…"},
	} {
		if got := clean(tc.text, 16); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}
