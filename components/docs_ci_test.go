// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package components_test

import (
	"maps"
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
	pinnedAction = regexp.MustCompile(`^ *(?:- )?uses: (actions/[a-z-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)\n$`)
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
		if len(commands) < 3 && filepath.Base(file) != pagesWorkflow {
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

// pagesWorkflow publishes docs/. It is the only workflow that runs no command.
const pagesWorkflow = "pages.yaml"

// workflow has the parts of a workflow that the tests read.
type workflow struct {
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]job    `json:"jobs"`
}

type job struct {
	Permissions map[string]string `json:"permissions"`
	Steps       []struct {
		Uses string            `json:"uses"`
		Run  string            `json:"run"`
		With map[string]string `json:"with"`
	} `json:"steps"`
}

// TestWorkflowsPinActions: an action is pinned by its commit, and a comment has its version. All workflows
// have the same commit of it.
func TestWorkflowsPinActions(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("workflows %q, error %v", files, err)
	}
	commits := map[string]string{}
	for _, file := range files {
		for line := range strings.Lines(readFile(t, file)) {
			if !strings.Contains(line, "uses:") {
				continue
			}
			pin := pinnedAction.FindStringSubmatch(line)
			if pin == nil {
				t.Errorf("%s: %q is not pinned by commit and version", file, strings.TrimSpace(line))
				continue
			}
			if known, seen := commits[pin[1]]; seen && known != pin[2] {
				t.Errorf("%s: %s has another commit than elsewhere", file, pin[1])
			}
			commits[pin[1]] = pin[2]
		}
	}
}

// TestPagesWorkflow: it publishes docs, its front page exists, and only the job that deploys may write.
func TestPagesWorkflow(t *testing.T) {
	var pages workflow
	if err := yaml.Unmarshal([]byte(readFile(t, "../.github/workflows/"+pagesWorkflow)), &pages); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{
		"upload": {"contents": "read"}, "deploy": {"pages": "write", "id-token": "write"},
	}
	if len(pages.Permissions) != 0 || len(pages.Jobs) != len(want) {
		t.Errorf("permissions of all jobs %v, %d jobs", pages.Permissions, len(pages.Jobs))
	}
	published := ""
	for name, job := range pages.Jobs {
		if !maps.Equal(job.Permissions, want[name]) {
			t.Errorf("job %s has the permissions %v, want %v", name, job.Permissions, want[name])
		}
		for _, step := range job.Steps {
			if step.Run != "" {
				t.Errorf("job %s runs %q", name, step.Run)
			}
			if strings.HasPrefix(step.Uses, "actions/upload-pages-artifact@") {
				published = step.With["path"]
			}
		}
	}
	if published != "docs" {
		t.Errorf("it publishes %q", published)
	}
	readFile(t, "../docs/index.html")
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
