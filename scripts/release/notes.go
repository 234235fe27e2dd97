// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const repository = "https://github.com/bulkhead-k8s/bulkhead"

// relativeLink matches the beginning of a link to another page of docs/, or to a heading.
var relativeLink = regexp.MustCompile(`\]\(([^):]+)\)`)

// releaseNotes returns the section of the changelog whose heading is "## NAME", with or without more
// words. Its links point to the pages of the version.
func releaseNotes(changelog, name, version string) (string, error) {
	body, err := section(changelog, name)
	if err != nil {
		return "", err
	}
	base := repository + "/blob/" + version + "/docs/"
	body = relativeLink.ReplaceAllStringFunc(body, func(link string) string {
		target := relativeLink.FindStringSubmatch(link)[1]
		switch {
		case strings.HasPrefix(target, "#"):
			target = "CHANGELOG.md" + target
		case strings.HasPrefix(target, "../"):
			return "](" + repository + "/blob/" + version + "/" + strings.TrimPrefix(target, "../") + ")"
		}
		return "](" + base + target + ")"
	})
	return "# Bulkhead " + version + "\n\n" + body + "\n", nil
}

func section(changelog, name string) (string, error) {
	lines := strings.Split(strings.ReplaceAll(changelog, "\r\n", "\n"), "\n")
	heading := func(line string) bool {
		words := strings.Fields(line)
		return len(words) > 1 && words[0] == "##" && strings.EqualFold(words[1], name)
	}
	start := slices.IndexFunc(lines, heading)
	if start < 0 {
		return "", fmt.Errorf("cannot write the release notes: docs/CHANGELOG.md has no heading \"## %s\"; add a "+
			"section for this version (docs/releases.md)", name)
	}
	rest := lines[start+1:]
	if slices.ContainsFunc(rest, heading) {
		return "", fmt.Errorf("cannot write the release notes: docs/CHANGELOG.md has the heading \"## %s\" twice; delete one",
			name)
	}
	end := slices.IndexFunc(rest, func(line string) bool { return strings.HasPrefix(line, "## ") })
	if end < 0 {
		end = len(rest)
	}
	body := strings.TrimSpace(strings.Join(rest[:end], "\n"))
	if body == "" {
		return "", fmt.Errorf("cannot write the release notes: the section \"## %s\" of docs/CHANGELOG.md is empty; write "+
			"what changed", name)
	}
	return body, nil
}
