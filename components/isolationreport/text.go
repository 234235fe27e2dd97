// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of texts in a report, in bytes.
const (
	// maxName limits names and requests, maxAnswer the answers, and maxMessage the messages of
	// failures.
	maxName    = 400
	maxAnswer  = 400
	maxMessage = 2000
)

// clean makes a text from a cluster safe to show and limits its length. It replaces characters that
// do not print, because some of them change the order or the look of other text. Lines stay lines.
func clean(text string, size int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == '\n', unicode.IsPrint(r):
			return r
		}
		return unicode.ReplacementChar
	}, strings.TrimSpace(text))
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size] + "…"
}

// plural returns the singular for 1, and the plural otherwise.
func plural(n int, singular, plural string) string {
	if n == 1 {
		return singular
	}
	return plural
}
