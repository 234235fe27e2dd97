// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/why"
)

var update = flag.Bool("update", false, "write testdata/why.txt again")

// TestWhyOfEveryRule compares the explanation of a denial by each rule with a file. testdata/denials.txt
// has real denials. For a rule that has none there, the denial is invented. Write the file again with
// `go test ./components/cmd/bulkhead -run TestWhyOfEveryRule -update`, and look at the difference.
func TestWhyOfEveryRule(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Copyright The Bulkhead Authors\n# SPDX-License-Identifier: Apache-2.0\n\n")
	real := realDenials(t)
	for _, r := range allRules() {
		message := real[string(r.ID)]
		if message == "" {
			message = fmt.Sprintf(`Error from server (Forbidden): things "t" is forbidden: no [%s]`, r.ID)
		}
		fmt.Fprintf(&b, "$ bulkhead why '%s'\n", message)
		answer, err := why.Explain(why.ParseMessage(message))
		if err != nil {
			t.Fatalf("%s: %v", r.ID, err)
		}
		if err := answer.Print(&b); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n")
		expectRuns(t, answer.Options)
	}
	golden := filepath.Join("testdata", "why.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-update writes the file again (-want +got)\n%s", diff)
	}
}

// realDenials returns the denials of a cluster, by the rule at their end.
func realDenials(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "denials.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if at := strings.LastIndex(line, "["); at >= 0 && !strings.HasPrefix(line, "#") {
			all[strings.Trim(line[at:], "[]")] = line
		}
	}
	return all
}

// quoted matches a command of bulkhead between backquotes.
var quoted = regexp.MustCompile("`(bulkhead [^`]+)`")

// expectRuns expects that each command of bulkhead in the options exists, with these flags.
func expectRuns(t *testing.T, options []why.Option) {
	t.Helper()
	for _, o := range options {
		commands := []string{}
		if o.Command != "" {
			commands = append(commands, o.Command)
		}
		for _, found := range quoted.FindAllStringSubmatch(o.Text, -1) {
			commands = append(commands, found[1])
		}
		for _, command := range commands {
			args := strings.Fields(command)
			cmd, rest, err := newRootCommand().Find(args[1:])
			if args[0] != "bulkhead" || err != nil || !cmd.Runnable() {
				t.Errorf("%q: bulkhead has no such command: %v", command, err)
				continue
			}
			if err := cmd.ParseFlags(rest); err != nil {
				t.Errorf("%q: %v", command, err)
			}
			if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
				t.Errorf("%q: %v", command, err)
			}
		}
	}
}

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
