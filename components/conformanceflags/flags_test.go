// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package conformanceflags

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestSuitesAreThoseOfTheProgram compares the names with the script that builds bulkhead-conformance.
func TestSuitesAreThoseOfTheProgram(t *testing.T) {
	script, err := os.ReadFile("../../scripts/conformance.sh")
	if err != nil {
		t.Fatal(err)
	}
	var built []string
	for _, found := range regexp.MustCompile(`\./e2e/([a-z]+)\b`).FindAllStringSubmatch(string(script), -1) {
		if found[1] != "cmd" {
			built = append(built, found[1])
		}
	}
	slices.Sort(built)
	if !slices.Equal(suites, built) {
		t.Errorf("suites %v, want those of scripts/conformance.sh: %v", suites, built)
	}
}

func TestFlagNamesTheSuites(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	new(Options).AddTo(fs)
	for _, name := range suites {
		if usage := fs.Lookup("suites").Usage; !strings.Contains(usage, name) {
			t.Errorf("--suites: want %s in %q", name, usage)
		}
	}
}

func TestCompleteSuites(t *testing.T) {
	for begun, want := range map[string][]string{
		"":                    suites,
		"node":                {"nodeauthorizer", "noderestriction", "nodescope"},
		"attacks,k":           {"attacks,kubeletauth"},
		"attacks,nodescope,a": {"attacks,nodescope,attacks"},
		"none":                nil,
	} {
		if got, _ := completeSuites(nil, nil, begun); !slices.Equal(got, want) {
			t.Errorf("%q completes to %v, want %v", begun, got, want)
		}
	}
}

// TestCompletionOfFlags asks cobra as a shell does.
func TestCompletionOfFlags(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","contexts":[{"name":"staging","context":{"cluster":"a"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--kubeconfig", kubeconfig, "--context", ""}, "staging\n:4\n"},
		{[]string{"--context", ""}, ":4\n"},
		{[]string{"--suites", "att"}, "attacks\n:4\n"},
	} {
		cmd := &cobra.Command{Use: "bulkhead-conformance", Run: func(*cobra.Command, []string) {}}
		new(Options).AddTo(cmd.Flags())
		AddCompletions(cmd)
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&bytes.Buffer{})
		cmd.SetArgs(append([]string{cobra.ShellCompNoDescRequestCmd}, tc.args...))
		if err := cmd.Execute(); err != nil || out.String() != tc.want {
			t.Errorf("%v: %v, completed %q, want %q", tc.args, err, out.String(), tc.want)
		}
	}
}
