// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package toolflag

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"strings"
	"unicode/utf8"
)

// Tester is the part of [testing.T] that CheckHelp needs.
type Tester interface {
	Helper()
	Errorf(format string, args ...any)
}

// CheckHelp checks a tool's function that calls [Parse]: --help prints the example, the exit codes
// and the flag, in lines of at most 120 characters, and invalid arguments are errors.
func CheckHelp[O any](t Tester, parse func(io.Writer, []string) (O, error), example, flagName string) {
	t.Helper()
	for _, arg := range []string{"-h", "--help"} {
		var out bytes.Buffer
		if _, err := parse(&out, []string{arg}); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: %v, want flag.ErrHelp", arg, err)
		}
		help, flags, _ := strings.Cut(out.String(), "\nFlags:\n")
		for _, want := range []string{"\nExamples:\n  " + example + "\n", "\nExit code: 0 if ", "; 1 "} {
			if !strings.Contains(help, want) {
				t.Errorf("%s: want %q in\n%s", arg, want, help)
			}
		}
		if !strings.Contains(flags, "  -"+flagName+" ") {
			t.Errorf("%s: want -%s in\n%s", arg, flagName, flags)
		}
		for line := range strings.Lines(help) {
			if utf8.RuneCountInString(line) > 120 {
				t.Errorf("%s: too long: %q", arg, line)
			}
		}
	}
	for arg, want := range map[string]string{"--unknown": "run it with --help", "word": "only flags"} {
		if _, err := parse(io.Discard, []string{arg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}
