// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// bareStar matches a value that begins with an unquoted "*", as in the example of the design
// proposal. YAML reads it as an alias.
var bareStar = regexp.MustCompile(`(?:^\s*|[-\[{,:?]\s*)(\*[^\s,\]}]*)\s*(?:[,\]}#].*)?$`)

// explain adds the solution to an error of the YAML parser, where the cause is an unquoted "*".
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

// quoteIt returns how to write a "*" in YAML.
func quoteIt(star string) string {
	return fmt.Sprintf("to YAML a bare %s is an alias, of which there can be none here: quote it: %q", Shorten(star),
		Shorten(star))
}

// Shorten limits the length of a text from the file, to limit the length of messages.
func Shorten(text string) string {
	const longest = 80
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}
