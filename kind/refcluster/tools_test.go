// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestImageHasEveryProgram checks that each folder of components/cmd is built for the image, and
// that the Dockerfile copies it. A static pod whose program is missing does not start.
func TestImageHasEveryProgram(t *testing.T) {
	components := filepath.Join("..", "..", "components")
	folders, err := os.ReadDir(filepath.Join(components, "cmd"))
	if err != nil {
		t.Fatal(err)
	}
	var programs, built []string
	for _, folder := range folders {
		programs = append(programs, folder.Name())
	}
	for _, tool := range tools {
		if tool.component {
			built = append(built, tool.name)
		}
	}
	slices.Sort(built)
	if diff := cmp.Diff(programs, built); diff != "" {
		t.Errorf("built for the image (-components/cmd +tools):\n%s", diff)
	}
	dockerfile, err := os.ReadFile(filepath.Join(components, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(programs, copied(string(dockerfile))); diff != "" {
		t.Errorf("in the image (-components/cmd +Dockerfile):\n%s", diff)
	}
}

// copied returns the files that the COPY instructions of a Dockerfile name, sorted.
func copied(dockerfile string) []string {
	var files []string
	for line := range strings.Lines(strings.ReplaceAll(dockerfile, "\\\n", " ")) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "COPY" {
			files = append(files, words[1:len(words)-1]...)
		}
	}
	slices.Sort(files)
	return files
}

func TestVersionFlags(t *testing.T) {
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	flags := Workshop{Root: repository}.versionFlags(t.Context(), &log)
	if !strings.HasPrefix(flags, "-s -w -X ") || !strings.Contains(flags, ".gitVersion=v") {
		t.Errorf("in the repository: %q\n%s", flags, log.String())
	}
	if flags := (Workshop{Root: t.TempDir()}).versionFlags(t.Context(), &log); flags != "-s -w" ||
		!strings.Contains(log.String(), `have the version "dev"`) {
		t.Errorf("outside of it: %q\n%s", flags, log.String())
	}
}
