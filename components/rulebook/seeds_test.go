// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rulebook

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// seedsPage has an entry for each statement of the proposals that Bulkhead builds on.
const seedsPage = "../../docs/seeds.md"

// statements is the number of entries for each proposal. So an entry cannot disappear unnoticed.
var statements = map[string]int{"000": 56, "001": 26, "002": 21, "003": 48, "004": 32}

// statement is an entry of the page.
type statement struct {
	seed, number, text string
	// parts are the lines below the text, by their name. A line has no line breaks here.
	parts map[string][]string
}

var (
	entryLine = regexp.MustCompile(`^- \*\*(\d{3})-(\d+)\*\*: (.+)$`)
	partLine  = regexp.MustCompile(`^  - (Rule|Spec|Test|Why not|Note): (.+)$`)
	located   = regexp.MustCompile("^`([^`]+)`: (.+)$")
)

// parseStatements reads the page. A line that is indented and begins with no name continues the line
// before.
func parseStatements(text string) (all []statement) {
	for _, line := range unwrapped(text) {
		if found := entryLine.FindStringSubmatch(line); found != nil {
			all = append(all, statement{found[1], found[2], found[3], map[string][]string{}})
		} else if found := partLine.FindStringSubmatch(line); found != nil && len(all) > 0 {
			parts := all[len(all)-1].parts
			parts[found[1]] = append(parts[found[1]], found[2])
		}
	}
	return all
}

func unwrapped(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		rest := strings.TrimLeft(line, " ")
		if rest != line && !strings.HasPrefix(rest, "- ") && rest != "" && len(lines) > 0 {
			lines[len(lines)-1] += " " + rest
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func readStatements(t *testing.T) []statement {
	t.Helper()
	text, err := os.ReadFile(seedsPage)
	if err != nil {
		t.Fatal(err)
	}
	return parseStatements(string(text))
}

// TestEveryStatementHasAnAnswer: each statement of a proposal has a rule with a spec, a test, or a
// reason why Bulkhead does not have it. What the page names exists.
func TestEveryStatementHasAnAnswer(t *testing.T) {
	count := map[string]int{}
	for _, s := range readStatements(t) {
		count[s.seed]++
		if want := strconv.Itoa(count[s.seed]); s.number != want {
			t.Errorf("%s-%s: the next number is %s", s.seed, s.number, want)
		}
		for _, problem := range problemsOf(s) {
			t.Errorf("%s-%s: %s", s.seed, s.number, problem)
		}
	}
	for seed, want := range statements {
		if count[seed] != want {
			t.Errorf("proposal %s has %d entries, want %d", seed, count[seed], want)
		}
	}
}

func problemsOf(s statement) (problems []string) {
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	var ids []rules.ID
	for _, list := range s.parts["Rule"] {
		for id := range strings.SplitSeq(list, ", ") {
			if _, known := Find(rules.ID(id)); !known {
				report("unknown rule %s", id)
			}
			ids = append(ids, rules.ID(id))
		}
	}
	proved := len(ids) > 0 && len(s.parts["Spec"]) > 0
	if !proved && len(s.parts["Test"]) == 0 && len(s.parts["Why not"]) == 0 {
		report("neither a rule with a spec, nor a test, nor a reason")
	}
	for _, spec := range s.parts["Spec"] {
		if err := findSpec(spec, ids); err != nil {
			report("spec %s: %v", spec, err)
		}
	}
	for _, test := range s.parts["Test"] {
		if err := findTest(test); err != nil {
			report("test %s: %v", test, err)
		}
	}
	return problems
}

// findSpec looks for "`e2e/suite/file_test.go`: "name"" among the specs of the rules. A name consists
// of the texts of several containers, so the file must have the last of them that it has.
func findSpec(line string, ids []rules.ID) error {
	found := located.FindStringSubmatch(line)
	if found == nil {
		return fmt.Errorf("want `FILE`: \"NAME\"")
	}
	file, name := found[1], strings.Trim(found[2], `"`)
	suite, isSpec := strings.CutPrefix(path.Dir(file), "e2e/")
	if !isSpec {
		return fmt.Errorf("%s is not a file of a suite", file)
	}
	if !slices.ContainsFunc(ids, func(id rules.ID) bool {
		return slices.ContainsFunc(Specs(id), func(s Spec) bool { return s.Suite == suite && s.Text == name })
	}) {
		return fmt.Errorf("none of the rules %s has a spec of this name in suite %s", ids, suite)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), path.Join("../..", file), nil, 0)
	if err != nil {
		return err
	}
	if !hasTextOf(parsed, name) {
		return fmt.Errorf("the file has no text of this name")
	}
	return nil
}

// hasTextOf reports whether the file has a text that is a part of the name, of several words.
func hasTextOf(file *ast.File, name string) (has bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			has = has || err == nil && strings.Contains(strings.TrimSpace(text), " ") && strings.Contains(name, text)
		}
		return !has
	})
	return has
}

func findTest(line string) error {
	found := located.FindStringSubmatch(line)
	if found == nil {
		return fmt.Errorf("want `FILE`: NAME")
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), path.Join("../..", found[1]), nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range parsed.Decls {
		if f, is := decl.(*ast.FuncDecl); is && f.Name.Name == found[2] && strings.HasPrefix(found[2], "Test") {
			return nil
		}
	}
	return fmt.Errorf("the file has no such test")
}

// TestStatementProblems: the check of the page sees each mistake.
func TestStatementProblems(t *testing.T) {
	const (
		file = "`e2e/nodeauthorizer/leases_test.go`"
		spec = "\n  - Spec: " + file + ": \"a node and a lease\n    gets its own\""
		rule = "\n  - Rule: NA-LEASE-3"
	)
	for _, row := range []struct{ name, entry, want string }{
		{"rule and spec", rule + spec, ""},
		{"a reason", "\n  - Why not: it cannot be\n    done", ""},
		{"a test", "\n  - Test: `components/rulebook/seeds_test.go`: TestStatementProblems", ""},
		{"nothing", "", "neither a rule with a spec"},
		{"a note alone", "\n  - Note: x", "neither a rule with a spec"},
		{"a rule alone", rule, "neither a rule with a spec"},
		{"an unknown rule", "\n  - Rule: NA-LEASE-99\n  - Why not: x", "unknown rule NA-LEASE-99"},
		{"a spec of another rule", "\n  - Rule: NA-LEASE-1" + spec, "none of the rules"},
		{"an unknown spec", rule + "\n  - Spec: " + file + ": \"a node flies\"", "none of the rules"},
		{"a spec in another suite", rule + strings.ReplaceAll(spec, "nodeauthorizer", "crawler"), "none of the rules"},
		{"a spec in another file", rule + strings.ReplaceAll(spec, "leases", "pods"), "no text of this name"},
		{"a file that does not exist", rule + strings.ReplaceAll(spec, "leases", "leases2"), "no such file"},
		{"a spec without a file", rule + "\n  - Spec: gets its own", "want `FILE`"},
		{"an unknown test", "\n  - Test: `components/rulebook/seeds_test.go`: TestNothing", "no such test"},
	} {
		t.Run(row.name, func(t *testing.T) {
			all := parseStatements("# Title\n\n- **000-1**: a statement\n  of two lines." + row.entry + "\n")
			if len(all) != 1 || all[0].text != "a statement of two lines." {
				t.Fatalf("parsed %+v", all)
			}
			got := strings.Join(problemsOf(all[0]), "; ")
			if (got == "") != (row.want == "") || !strings.Contains(got, row.want) {
				t.Errorf("problems %q, want %q", got, row.want)
			}
		})
	}
}
