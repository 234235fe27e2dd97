// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os/exec"
	"testing"
)

func TestVersionIsSemantic(t *testing.T) {
	for version, valid := range map[string]bool{
		"v0.2.0": true, "v10.20.30": true, "v0.2.0-rc.1": true, "v0.0.0-test": true, "v1.0.0-0a.b-c": true,
		"": false, "0.2.0": false, "v0.2": false, "v0.2.0.1": false, "v01.2.0": false, "v0.2.0-": false, "v0.2.0-01": false,
		"v0.2.0-a..b": false, "v0.2.0+build": false, "v0.2.0\n": false, "v0.2.0 -X main.x=y": false, "v0.2.0/../..": false,
		"latest": false,
	} {
		if err := checkVersion(version); (err == nil) != valid {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// git runs git in a folder. Its commits have a fixed time.
func git(t *testing.T, folder string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.test"}, args...)...)
	cmd.Dir = folder
	cmd.Env = append(cmd.Environ(), "GIT_COMMITTER_DATE=@1795650751 +0200", "GIT_CONFIG_GLOBAL=/dev/null")
	if printed, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, printed)
	}
}

func TestSource(t *testing.T) {
	folder := t.TempDir()
	if _, err := readSource(context.Background(), folder); err == nil {
		t.Error("no error without a repository")
	}
	write(t, folder, "a", "1")
	git(t, folder, "init", "--quiet")
	git(t, folder, "add", ".")
	git(t, folder, "commit", "--quiet", "--message=m")
	for _, tt := range []struct {
		name, file, content string
		dirty               bool
	}{
		{"clean", "a", "1", false},
		{"changed file", "a", "2", true},
		{"file that git does not know", "b", "", true},
	} {
		write(t, folder, tt.file, tt.content)
		src, err := readSource(context.Background(), folder)
		if err != nil || src.dirty != tt.dirty || !src.time.Equal(commitTime) || len(src.commit) != 40 {
			t.Errorf("%s: %+v, %v", tt.name, src, err)
		}
		git(t, folder, "checkout", "--quiet", "--", "a")
	}
}
