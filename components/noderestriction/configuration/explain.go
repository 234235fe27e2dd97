// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// bareStar finds a value that begins with a * without quotes, as the proposal
// document's own example has it. To YAML it is the name of something said before.
var bareStar = regexp.MustCompile(`(?:^\s*|[-\[{,:?]\s*)(\*[^\s,\]}]*)\s*(?:[,\]}#].*)?$`)

// explain puts what to do instead into an error of the YAML parser.
func explain(data []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if !strings.Contains(text, "anchor") && !strings.Contains(text, "did not find expected") {
		return fmt.Errorf("is neither YAML nor JSON: %s", text)
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if found := bareStar.FindSubmatch(bytes.TrimRight(line, "\r\n")); found != nil {
			return fmt.Errorf("line %d: %s", number, quoteIt(string(found[1])))
		}
	}
	return fmt.Errorf("is neither YAML nor JSON: %s", text)
}

// quoteIt says how a * is written in YAML.
func quoteIt(star string) string {
	return fmt.Sprintf("to YAML a bare %s is an alias, of which there can be none here: quote it: %q", shorten(star),
		shorten(star))
}

// shorten keeps what a file says from making a message of any length.
func shorten(text string) string {
	const longest = 80
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}
