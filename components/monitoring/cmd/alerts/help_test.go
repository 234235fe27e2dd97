// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHelpHasAnExampleAndTheExitCodes(t *testing.T) {
	for _, arg := range []string{"-h", "--help"} {
		var out bytes.Buffer
		if _, err := parse(&out, []string{arg}); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: %v", arg, err)
		}
		for _, want := range []string{"Examples:\n  make alerts\n", "\nExit code: 0 if ", "; 1 ", "  -only "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: want %q in\n%s", arg, want, out.String())
			}
		}
	}
	for line := range strings.Lines(help) {
		if utf8.RuneCountInString(line) > 120 {
			t.Errorf("too long: %q", line)
		}
	}
}

func TestInvalidArguments(t *testing.T) {
	for arg, want := range map[string]string{
		"--unknown": "run it with --help", "word": "only flags", "--rewrite": "-write is empty",
	} {
		if _, err := parse(io.Discard, []string{arg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}
