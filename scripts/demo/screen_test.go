// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		want       []string
	}{
		{"short", "a b", []string{"a b"}},
		{"empty", "", []string{""}},
		{"between words", "one two three", []string{"one two", "three"}},
		{"exactly", "one2 two", []string{"one2 two"}},
		{"a long word", "abcdefghijkl", []string{"abcdefgh", "ijkl"}},
		{"letters of several bytes", "ééééé ööö", []string{"ééééé", "ööö"}},
		{"indented", "  abcdefghijkl", []string{"  abcdef", "ghijkl"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := wrap(tc.line, 8); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPrintableLeavesNothingThatChangesTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"plain\n":                   "plain\n",
		"no line break":             "no line break\n",
		"\x1b[2Jhidden\r\n":         "[2Jhidden\n",
		"\x82\x16\x01key\x88\x02":   "key\n",
		"a\tb\n":                    "a b\n",
		"left \u202eto right\n":     "left to right\n",
		strings.Repeat("\x00", 100): "",
	} {
		if got := printable(text); strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestColors(t *testing.T) {
	var out strings.Builder
	s := &screen{ctx: t.Context(), out: &out, colors: true}
	s.answer("denied [NR-SA-6]\n")
	if want := "denied \x1b[1;32m[NR-SA-6]\x1b[0m\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	s.colors = false
	s.answer("denied [NR-SA-6]\n")
	if want := "denied [NR-SA-6]\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestPace(t *testing.T) {
	for pace, want := range map[float64]time.Duration{0: 0, 0.01: 10 * time.Millisecond, 0.02: 20 * time.Millisecond} {
		var paused time.Duration
		s := &screen{ctx: t.Context(), out: &strings.Builder{}, pace: pace, paused: func(d time.Duration) { paused += d }}
		s.pause(time.Second)
		if paused != want {
			t.Errorf("pace %g: %s, want %s", pace, paused, want)
		}
	}
}
