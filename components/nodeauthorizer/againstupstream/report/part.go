// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// parts are written by another program than the rest, between two comments.
var parts = regexp.MustCompile(`(?s)\n<!-- part: ([a-z-]+) -->\n.*?<!-- end of part -->\n`)

// Replace puts a part in a page: in the place of the one of that name, or at the end.
// The name is of lower-case letters and dashes.
func Replace(page, name, text string) string {
	whole := "\n<!-- part: " + name + " -->\n" + strings.TrimSpace(text) + "\n<!-- end of part -->\n"
	found := false
	page = parts.ReplaceAllStringFunc(page, func(old string) string {
		if parts.FindStringSubmatch(old)[1] != name {
			return old
		}
		found = true
		return whole
	})
	if found {
		return page
	}
	return page + whole
}

// Keep is a new page with the parts of an old one.
func Keep(old, page string) string {
	return page + strings.Join(parts.FindAllString(old, -1), "")
}

// WritePart puts the document in a page that other programs write too, as the part of
// that name.
func (d *Document) WritePart(page, name, title string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	whole := Replace(string(old), name, d.Part(title))
	if err := os.WriteFile(page, []byte(whole), 0o644); err != nil { //nolint:gosec // a page for everybody
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
