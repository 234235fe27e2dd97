// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	// maxReason bounds, in bytes, what the caller reads. A reason may quote the
	// request, and it is written to the audit log and to the API server's answer.
	maxReason = 1 << 10
	// maxCited is longer than the ID of any rule.
	maxCited = 32
	// maxLogged bounds, in bytes, every string of a request that goes into a line.
	maxLogged = 256
)

// Presentable makes a reason safe to show. What is too long loses its end, but
// not the rule that it cites.
func Presentable(reason string) string {
	end := len(reason)
	if id, ok := rules.FromReason(reason); ok && len(id) <= maxCited {
		end -= len(id) + len("[]")
	}
	text := strings.TrimSuffix(reason[:end], " ")
	cited := reason[len(text):]
	return Printable(text, maxReason-len(cited)) + Printable(cited, len(cited))
}

// Printable makes a string of a request safe to print: no control characters, no
// line breaks, nothing that changes the direction of text, and no more than size
// bytes before the mark that something was left out.
func Printable(s string, size int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
	if len(s) <= size {
		return s
	}
	for size > 0 && !utf8.RuneStart(s[size]) {
		size--
	}
	return s[:size] + "…"
}

// Loggable makes a string of a request fit for a line in the log.
func Loggable(s string) string { return Printable(s, maxLogged) }
