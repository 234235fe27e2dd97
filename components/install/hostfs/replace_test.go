// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestReplace(t *testing.T) {
	for _, tc := range []struct {
		name string
		// meanwhile is done after the file was read.
		meanwhile func(path string) error
		changed   bool
		want      string
	}{
		{"nothing happens", func(string) error { return nil }, false, "new"},
		{"it is touched", func(path string) error { return os.WriteFile(path, []byte("old"), 0o640) }, false, "new"},
		{"it is written to", func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o640) }, true, "theirs"},
		{"its mode changes", func(path string) error { return os.Chmod(path, 0o600) }, true, "old"},
		{"it is removed", os.Remove, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Chmod(path, 0o640)); err != nil {
				t.Fatal(err)
			}
			before, _, err := Read(path)
			if err = errors.Join(err, tc.meanwhile(path)); err != nil {
				t.Fatal(err)
			}
			if err := Replace(path, before, []byte("new")); errors.Is(err, ErrChanged) != tc.changed || !tc.changed &&
				err != nil {
				t.Errorf("error is %v", err)
			}
			after, exists, err := Read(path)
			if string(after.Data) != tc.want || exists != (tc.want != "") || err != nil {
				t.Errorf("it holds %q, %v", after.Data, err)
			}
			if tc.want == "new" && after.Mode != 0o640 {
				t.Errorf("its mode is %v", after.Mode)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, tempNames)); left != nil {
				t.Errorf("left are %v", left)
			}
		})
	}
}
