// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/why"
)

// runWhy returns the output, or the error.
func runWhy(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out bytes.Buffer
	cmd := newWhyCommand()
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return out.String(), err
}

func TestWhyOfAMessage(t *testing.T) {
	const own = `nodes "a" is forbidden: node "b" is not allowed to modify node "a"`
	event := `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"get",` +
		`"user":{"username":"system:node:a","groups":["system:nodes"]},"objectRef":{"resource":"secrets",` +
		`"namespace":"n","name":"s","apiVersion":"v1"},"responseStatus":{"code":403},"annotations":{` +
		`"authorization.k8s.io/decision":"forbid","authorization.k8s.io/reason":"no [NA-SECRET-1]"}}`
	for _, row := range []struct {
		name, stdin string
		args        []string
		want        string
		fails       bool
	}{
		{"quoted", "", []string{"Error from server (Forbidden): " + own}, "Rule:        NR-NODE-1\n", false},
		{"not quoted", "", strings.Fields(own), "Rule:        NR-NODE-1\n", false},
		{"three words with an ID", "", []string{"it", "is", "[NR-NODE-1]"}, "Rule:        NR-NODE-1\n", false},
		{"standard input", own + "\n", []string{"-"}, "Denied by:   Kubernetes' own NodeRestriction plugin", false},
		{"audit line", event, []string{"-"}, "Request:     system:node:a get secrets n/s\n", false},
		{"json", "", []string{own, "-o", "json"}, `"id": "NR-NODE-1"`, false},
		{"yaml", "", []string{own, "-o", "yaml"}, "outcome: denied\n", false},
		{"a rule ID", "", []string{"NA-SECRET-1"}, "run `bulkhead rules NA-SECRET-1`", true},
		{"a rule ID in lower case", "na-secret-1\n", []string{"-"}, "run `bulkhead rules NA-SECRET-1`", true},
		{"no decision", "", []string{"hello"}, "cannot find a decision", true},
		{"empty", "\n", []string{"-"}, "empty message", true},
		{"too long", strings.Repeat("x", 9<<20), []string{"-"}, "longer than 8 MiB", true},
		{"two events", event + "\n" + event, []string{"-"}, "several lines", true},
		{"not an event", "{}", []string{"-"}, "not an event", true},
		{"-f and a message", "", []string{own, "-f", "x"}, "cannot use -f with a message", true},
		{"live without a request", "", []string{own, "--live"}, "does not name the user", true},
		{"live without a cluster", event, []string{"-", "--live"}, "cannot connect to the cluster", true},
		{"request without a cluster", "", []string{"u", "get", "secrets"}, "cannot connect to the cluster", true},
		{"output", "", []string{own, "-o", "text"}, "use table, json or yaml", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := runWhy(t, row.stdin, row.args...)
			if err != nil {
				got = err.Error()
			}
			if (err != nil) != row.fails || !strings.Contains(got, row.want) {
				t.Errorf("error %v, want %q in\n%.2000s", err, row.want, got)
			}
		})
	}
}

func TestExitCodeOfADeniedRequest(t *testing.T) {
	if got := exitCode(fmt.Errorf("x: %w", deniedError{})); got != 2 {
		t.Errorf("a denied request: %d", got)
	}
	if got := exitCode(why.ErrNoDecision); got != 1 {
		t.Errorf("an error: %d", got)
	}
}

// TestHelpOfThePlugin: kubectl runs kubectl-bulkhead, and the user has typed kubectl bulkhead.
func TestHelpOfThePlugin(t *testing.T) {
	name := os.Args[0]
	t.Cleanup(func() { os.Args[0] = name })
	const plugin = "/usr/local/bin/kubectl-bulkhead"
	for path, want := range map[string]string{plugin: "kubectl bulkhead", name: "bulkhead"} {
		os.Args[0] = path
		var out bytes.Buffer
		root := newRootCommand()
		root.SetArgs([]string{"why", "--help"})
		root.SetOut(&out)
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"\n  " + want + " why MESSAGE | USER", "\n  " + want + " why system:node:"} {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: want %q in\n%s", path, text, out.String())
			}
		}
	}
}
