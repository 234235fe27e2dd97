// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package components_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var (
	makeCommand  = regexp.MustCompile(`\bmake ([a-z][a-z0-9-]*)((?: [A-Z_]+=\S+)*)`)
	makeVariable = regexp.MustCompile(`([A-Z_]+)=`)
	makeTarget   = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
	makeSetting  = regexp.MustCompile(`(?m)^([A-Z_]+) *\?=`)
	fencedYAML   = regexp.MustCompile("(?s)```yaml\n(.*?)```")
)

// TestCommandsForCIExist checks that each command on ci.md and in the workflows is a target of the
// Makefile, with variables that it has.
func TestCommandsForCIExist(t *testing.T) {
	makefile := readFile(t, "../Makefile")
	targets, settings := names(makeTarget, makefile), names(makeSetting, makefile)
	files, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("workflows %q, error %v", files, err)
	}
	for _, file := range append(files, "../docs/ci.md") {
		commands := makeCommand.FindAllStringSubmatch(readFile(t, file), -1)
		if len(commands) < 3 {
			t.Errorf("%s has only %d commands", file, len(commands))
		}
		for _, command := range commands {
			if !targets[command[1]] {
				t.Errorf("%s runs %q, which is not in the Makefile", file, command[0])
			}
			for _, variable := range makeVariable.FindAllStringSubmatch(command[2], -1) {
				if !settings[variable[1]] {
					t.Errorf("%s sets %s, which is not in the Makefile", file, variable[1])
				}
			}
		}
	}
}

func TestConfigurationsForCIAreYAML(t *testing.T) {
	blocks := fencedYAML.FindAllStringSubmatch(readFile(t, "../docs/ci.md"), -1)
	if len(blocks) < 2 {
		t.Errorf("%d blocks", len(blocks))
	}
	for _, block := range blocks {
		content := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(block[1]), &content); err != nil {
			t.Errorf("%v:\n%s", err, block[1])
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(raw), "\r\n", "\n")
}

func names(pattern *regexp.Regexp, text string) map[string]bool {
	found := map[string]bool{}
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return found
}
