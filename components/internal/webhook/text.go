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
	// maxReason bounds, in bytes, a reason for the caller. A reason may quote the request. It is in
	// the audit log and in the API server's answer.
	maxReason = 1 << 10
	// maxCited is longer than the ID of any rule.
	maxCited = 32
	// maxLogged bounds, in bytes, every string of a request in a log line.
	maxLogged = 256
)

// Presentable makes a reason safe to show. It shortens a long reason at the end, but keeps the rule
// that the reason cites.
func Presentable(reason string) string {
	end := len(reason)
	if id, ok := rules.FromReason(reason); ok && len(id) <= maxCited {
		end -= len(id) + len("[]")
	}
	text := strings.TrimSuffix(reason[:end], " ")
	cited := reason[len(text):]
	return Printable(text, maxReason-len(cited)) + Printable(cited, len(cited))
}

// Printable makes a string of a request safe to print. It removes control characters, line breaks
// and characters that change the direction of text. It keeps at most size bytes, followed by a mark
// if something was left out.
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

// Loggable makes a string of a request safe for a log line.
func Loggable(s string) string { return Printable(s, maxLogged) }
