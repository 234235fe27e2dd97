// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestReleaseNotes(t *testing.T) {
	const changelog = `# Changes

## Unreleased

- next

## v0.2.0 (2026-12-01)

### Added

- A [page](install.md#upgrade), [here](#v010), [file](../LICENSE), [far](https://example.test/a).

## v0.1.0

- first

## v0.0.2

## v0.0.1
- twice
## v0.0.1
- twice
`
	const base = "https://github.com/bulkhead-k8s/bulkhead/blob/v0.2.0/"
	for _, tt := range []struct{ name, section, want, err string }{
		{"heading with a date, and links", "v0.2.0", "# Bulkhead v0.2.0\n\n### Added\n\n- A [page](" + base +
			"docs/install.md#upgrade), [here](" + base + "docs/CHANGELOG.md#v010), [file](" + base +
			"LICENSE), [far](https://example.test/a).\n", ""},
		{"another section", "unreleased", "# Bulkhead v0.2.0\n\n- next\n", ""},
		{"no such section", "v0.2.1", "", `no heading "## v0.2.1"`},
		{"only the beginning of a version", "v0.1", "", `no heading "## v0.1"`},
		{"empty section", "v0.0.2", "", "is empty"},
		{"two sections", "v0.0.1", "", "twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, text := range []string{changelog, strings.ReplaceAll(changelog, "\n", "\r\n")} {
				got, err := releaseNotes(text, tt.section, "v0.2.0")
				if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, notes %q, want %q", err, got, tt.want)
				}
			}
		})
	}
	if _, err := releaseNotes("", "v0.2.0", "v0.2.0"); err == nil {
		t.Error("no error for an empty changelog")
	}
}
