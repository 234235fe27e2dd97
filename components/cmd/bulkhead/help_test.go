// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

// TestTheExampleOfInstallNamesAnImage: the default image exists only for a release.
func TestTheExampleOfInstallNamesAnImage(t *testing.T) {
	if example := newInstallCommand().Example; !strings.Contains(example, "--image=") {
		t.Errorf("it is %q", example)
	}
}

// TestCommandsInMessagesExist checks that the commands in the installer's messages exist.
func TestCommandsInMessagesExist(t *testing.T) {
	var got []string
	for _, c := range newRootCommand().Commands() {
		got = append(got, c.Name())
	}
	for _, name := range []string{"install", "uninstall", "prepare", "status", "preflight", "mirror-labels", "audit"} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not among %v", name, got)
		}
	}
}
