// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package components_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	scopeadmission "github.com/bulkhead-k8s/bulkhead/components/nodescope/admission"
)

const threatModel = "../docs/threat-model.md"

// fieldRow is a row of the page's tables: a field, or, with .* at the end, all that is
// below it. Then it says how many fields these are, and their fingerprint.
type fieldRow struct {
	line            int
	heading, field  string
	prefix          bool
	count, hash     string
	answer, written string
}

var rowPattern = regexp.MustCompile("^\\| `([^`]+)`(?: \\((\\d+): ([0-9a-f]{4})\\))? \\| (.*\\S) \\|$")

// TestThreatModelHasEveryField fails when Kubernetes adds a field that a node can write, when
// a row names none, and when what is below a row has changed since somebody looked at it.
func TestThreatModelHasEveryField(t *testing.T) {
	rows := fieldRows(t)
	common := rows[everyObject]
	var problems []string
	for _, row := range common {
		// What these rows leave out, the types below need rows for.
		problems = append(problems, checkRow(everyObject, row, fieldsOf(reflect.TypeFor[metadata]()))...)
	}
	for heading, of := range writtenByNodes {
		problems = append(problems, checkRows(heading, of, rows[heading], common)...)
	}
	for heading := range rows {
		if _, known := writtenByNodes[heading]; !known && heading != everyObject {
			problems = append(problems, fmt.Sprintf("%s: no type that nodes write", heading))
		}
	}
	slices.Sort(problems)
	for _, problem := range problems {
		t.Error(problem)
	}
}

// checkRows holds the rows of one type against its fields. Those of every object count only
// for metadata of which the type has no row of its own.
func checkRows(heading string, of reflect.Type, rows, common []fieldRow) (problems []string) {
	all := fieldsOf(of)
	covered := map[string]string{}
	for _, row := range rows {
		problems = append(problems, checkRow(heading, row, all)...)
		for _, field := range row.covers(all) {
			if before, twice := covered[field]; twice {
				problems = append(problems,
					fmt.Sprintf("%s: line %d: %s is in the row of %s already", heading, row.line, field, before))
			}
			covered[field] = row.written
		}
	}
	for _, field := range all {
		if covered[field] == "" &&
			!slices.ContainsFunc(common, func(row fieldRow) bool { return len(row.covers([]string{field})) == 1 }) {
			problems = append(problems, fmt.Sprintf("%s: no row for %s", heading, field))
		}
	}
	return problems
}

// checkRow holds one row against the fields of its type.
func checkRow(heading string, row fieldRow, all []string) (problems []string) {
	below := row.covers(all)
	if len(below) == 0 {
		problems = append(problems, fmt.Sprintf("%s: line %d: there is no field %s", heading, row.line, row.written))
	}
	if want := fmt.Sprintf("(%d: %s)", len(below), fingerprint(below)); row.prefix &&
		want != fmt.Sprintf("(%s: %s)", row.count, row.hash) {
		problems = append(problems,
			fmt.Sprintf("%s: line %d: the fields below %s have changed: look at them, then write %s", heading, row.line,
				row.written, want))
	}
	return problems
}

func (r fieldRow) covers(all []string) (below []string) {
	for _, field := range all {
		rest, is := strings.CutPrefix(field, r.field)
		if is && (rest == "" && !r.prefix || r.prefix && rest != "" && strings.ContainsAny(rest[:1], ".[{")) {
			below = append(below, field)
		}
	}
	return below
}

// fieldRows reads the tables whose head is "field", by the heading that they are under.
func fieldRows(t *testing.T) map[string][]fieldRow {
	t.Helper()
	rows := map[string][]fieldRow{}
	var heading string
	inTable := false
	for i, line := range readPage(t) {
		switch {
		case strings.HasPrefix(line, "### "):
			heading, inTable = strings.TrimPrefix(line, "### "), false
		case strings.HasPrefix(line, "| field |"):
			inTable = true
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case inTable && !strings.HasPrefix(line, "|---"):
			parts := rowPattern.FindStringSubmatch(line)
			if parts == nil {
				t.Fatalf("line %d is no row: %s", i+1, line)
			}
			field, prefix := strings.CutSuffix(parts[1], ".*")
			rows[heading] = append(rows[heading], fieldRow{
				line: i + 1, heading: heading, field: field, prefix: prefix,
				count: parts[2], hash: parts[3], answer: parts[4], written: parts[1],
			})
		}
	}
	return rows
}

func readPage(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(threatModel)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

var idPattern = regexp.MustCompile(`\b(?:NA|NR|KA|NS)(?:-[A-Z]+)+(?:-[0-9]+)?\b`)

// TestThreatModelAnswers fails for a row that neither names a rule nor says who else decides or
// why it is free, for a rule that does not exist, and for a line that is too long.
func TestThreatModelAnswers(t *testing.T) {
	for _, rows := range fieldRows(t) {
		for _, row := range rows {
			begins := func(with string) bool { return strings.HasPrefix(row.answer, with) && len(row.answer) > len(with)+5 }
			if idPattern.FindStringIndex(row.answer) == nil && !begins("API server: ") && !begins("free: ") {
				t.Errorf("line %d: %s is neither restricted by a rule nor by the API server, nor free for a reason: %s", row.line,
					row.written, row.answer)
			}
		}
	}
	known := everyRule()
	for i, line := range readPage(t) {
		if length := len([]rune(line)); length > 100 {
			t.Errorf("line %d has %d columns", i+1, length)
		}
		for _, id := range idPattern.FindAllString(line, -1) {
			if !known[id] {
				t.Errorf("line %d: there is no rule %s", i+1, id)
			}
		}
	}
}

func everyRule() map[string]bool {
	known := map[string]bool{}
	for _, r := range slices.Concat(nodeauthorizer.Rules, noderestriction.Rules, kubeletauth.Rules, nodescope.Rules,
		scopeadmission.Rules) {
		known[string(r.ID)] = true
	}
	return known
}

var specPattern = regexp.MustCompile("`(e2e/[a-z_0-9/]+_test\\.go)`: ((?:\"[^\"]+\"(?:, )?)+)")

// TestThreatModelNamesSpecs fails for a spec that is not in the file that the page names.
func TestThreatModelNamesSpecs(t *testing.T) {
	page := strings.Join(strings.Fields(strings.Join(readPage(t), "\n")), " ")
	found := specPattern.FindAllStringSubmatch(page, -1)
	if len(found) < 20 {
		t.Errorf("the page names %d files of specs only: has its form changed?", len(found))
	}
	for _, match := range found {
		file, err := os.ReadFile(filepath.Join("..", match[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		for name := range strings.SplitSeq(strings.Trim(match[2], `", `), `", "`) {
			if !strings.Contains(string(file), `"`+name+`"`) {
				t.Errorf("%s has no spec %q", match[1], name)
			}
		}
	}
}
