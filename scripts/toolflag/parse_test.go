// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package toolflag

import (
	"flag"
	"io"
	"testing"
)

const help = `Example shows how a tool parses its flags.

Examples:
  make example

Exit code: 0 if it works; 1 for an error.

Flags:
`

func parse(out io.Writer, args []string) (page string, err error) {
	flags := flag.NewFlagSet("example", flag.ContinueOnError)
	flags.StringVar(&page, "write", "", "the page to write")
	return page, Parse(out, help, flags, args)
}

func TestParse(t *testing.T) {
	CheckHelp(t, parse, "make example", "write")
	if page, err := parse(io.Discard, []string{"-write=a.md"}); page != "a.md" || err != nil {
		t.Errorf("got %q, %v", page, err)
	}
}

// failures counts what CheckHelp reports.
type failures int

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { *f++ }

func TestCheckHelpReportsProblems(t *testing.T) {
	for name, check := range map[string]func(Tester){
		"other example": func(f Tester) { CheckHelp(f, parse, "make other", "write") },
		"other flag":    func(f Tester) { CheckHelp(f, parse, "make example", "other") },
		"accepts everything": func(f Tester) {
			CheckHelp(f, func(io.Writer, []string) (string, error) { return "", nil }, "make example", "write")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var found failures
			if check(&found); found == 0 {
				t.Error("no problem reported")
			}
		})
	}
}
