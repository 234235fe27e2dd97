// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTagFollowsTheInputs(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tag := func(kindVersion string) string {
		t.Helper()
		tag, err := releases[0].Tag(dir, kindVersion, "amd64")
		if err != nil {
			t.Fatal(err)
		}
		return tag
	}
	write("rootfs.sh", "one")
	first := tag("v1")
	if again := tag("v1"); again != first {
		t.Errorf("the same inputs made %s and %s", first, again)
	}
	write("inputs_test.go", "a test is no input")
	if again := tag("v1"); again != first {
		t.Errorf("a test changed the tag from %s to %s", first, again)
	}
	if other := tag("v2"); other == first {
		t.Error("another kind version has the same tag")
	}
	write("rootfs.sh", "two")
	if other := tag("v1"); other == first {
		t.Error("another content has the same tag")
	}
	if _, err := releases[0].Tag(filepath.Join(dir, "missing"), "v1", "amd64"); err == nil {
		t.Error("a folder that is not there was hashed")
	}
}
