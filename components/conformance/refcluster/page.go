// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"fmt"
	"os"
	"strings"
)

// ReplacePart replaces the part of a page between two markers.
func ReplacePart(page, begin, end, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(old), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("cannot write %s: it does not have the two markers %s and %s", page,
			strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(page, []byte(head+begin+text+end+tail), 0o644) //nolint:gosec // a page of the documentation
}
