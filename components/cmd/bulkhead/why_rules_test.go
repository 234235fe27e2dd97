// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/components/why"
)

var update = flag.Bool("update", false, "write the golden files of testdata again")

// TestWhyOfEveryRule compares the explanation of a denial by each rule with a file. testdata/denials.txt
// has the denials of Bulkhead, testdata/denials_upstream.txt those of Kubernetes for rules of both. Write
// the file again with `go test ./components/cmd/bulkhead -run TestWhyOfEveryRule -update`, and look at the
// difference.
func TestWhyOfEveryRule(t *testing.T) {
	var b strings.Builder
	b.WriteString(goldenHeader)
	bulkheads, upstream := denials(t, "denials.txt"), denials(t, "denials_upstream.txt")
	for _, r := range allRules() {
		id := string(r.ID)
		switch messages := slices.Concat(bulkheads[id], upstream[id]); {
		case len(messages) > 0:
			for _, message := range messages {
				explainTo(t, &b, id, message)
			}
		case inNoMessage[id]:
			ruleTo(t, &b, r)
		default:
			t.Errorf("testdata/denials.txt has no denial by %s", id)
		}
	}
	expectGolden(t, "why.txt", b.String())
}

const goldenHeader = "# Copyright The Bulkhead Authors\n# SPDX-License-Identifier: Apache-2.0\n\n"

// inNoMessage are rules whose ID no client gets: KA-HEADER-1 removes headers, KA-STREAM-1 closes a
// connection, KA-ANON-1 answers with KA-AUTH-1, and for KA-LOOPBACK-1 the kubelet answers.
var inNoMessage = map[string]bool{"KA-HEADER-1": true, "KA-STREAM-1": true, "KA-ANON-1": true, "KA-LOOPBACK-1": true}

// explainTo writes the explanation of a denial, which must name the rule and what would allow the request.
func explainTo(t *testing.T, b *strings.Builder, id, message string) {
	t.Helper()
	fmt.Fprintf(b, "$ bulkhead why '%s'\n", message)
	answer, err := why.Explain(why.ParseMessage(message))
	if err != nil {
		t.Errorf("%s: %v", id, err)
		return
	}
	printTo(t, b, answer)
	if !slices.ContainsFunc(answer.Rules, func(r why.Rule) bool { return string(r.ID) == id }) {
		t.Errorf("%q is explained by %+v, want %s", message, answer.Rules, id)
	}
}

// printTo writes an answer. A denial must have something that would allow the request.
func printTo(t *testing.T, b *strings.Builder, answer *why.Answer) {
	t.Helper()
	if err := answer.Print(b); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n")
	if answer.Outcome == why.Denied && len(answer.Options) == 0 {
		t.Errorf("nothing would allow %q", answer.Request+answer.Reason)
	}
	expectRuns(t, answer.Options)
}

// ruleTo writes a rule in full, without its specs.
func ruleTo(t *testing.T, b *strings.Builder, r rules.Rule) {
	t.Helper()
	fmt.Fprintf(b, "$ bulkhead rules %s\n", r.ID)
	full := why.Full(r, nil)
	full.Specs = nil
	if err := why.PrintRule(b, full); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n")
	if len(full.Exception) == 0 {
		t.Errorf("nothing would allow what %s denies", r.ID)
	}
	expectRuns(t, full.Exception)
}

// expectGolden compares a text with a file of testdata, or writes the file again.
func expectGolden(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-update writes the file again (-want +got)\n%s", diff)
	}
}

// denials returns the denials in a file of testdata. Their rule is the ID at the end, or the one before
// a colon at the beginning.
func denials(t *testing.T, name string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, known := rules.FromReason(line)
		if first, message, cut := strings.Cut(line, ": "); !known && cut {
			id, line = rules.ID(first), message
		}
		if _, known := rulebook.Find(id); !known {
			t.Errorf("%s: no rule %q in %q", name, id, line)
		}
		all[string(id)] = append(all[string(id)], line)
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
		if strings.HasPrefix(o.Command, "bulkhead ") {
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
