// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyRootMayReplaceTheProgram(t *testing.T) {
	// A program of the operating system.
	if err := CheckProgram("/usr/bin/env"); err != nil {
		t.Errorf("program of root: %v", err)
	}
	open := filepath.Join(t.TempDir(), "open")
	program := filepath.Join(open, "bulkhead")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"directory": open, "program": program} {
		t.Run(name+" that all users may write to", func(t *testing.T) {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = os.Chmod(path, 0o755) }()
			if err := CheckProgram(program); err == nil || !strings.Contains(err.Error(), path+" belongs to user") ||
				!strings.Contains(err.Error(), "mode 0777") {
				t.Errorf("error is %v", err)
			}
		})
	}
	if os.Geteuid() == 0 {
		t.Run("program that a group may write to", func(t *testing.T) {
			if err := errors.Join(os.Chown(program, 0, 1000), os.Chmod(program, 0o775)); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = os.Chmod(program, 0o755) }()
			if err := CheckProgram(program); err == nil ||
				!strings.Contains(err.Error(), program+" belongs to user 0 and group 1000, and has the mode 0775") {
				t.Errorf("error is %v", err)
			}
		})
		t.Run("program of another user", func(t *testing.T) {
			if err := os.Chown(program, 1000, 1000); err != nil {
				t.Fatal(err)
			}
			if err := CheckProgram(program); err == nil || !strings.Contains(err.Error(), "belongs to user 1000") {
				t.Errorf("error is %v", err)
			}
		})
	}
	if err := CheckProgram(filepath.Join(open, "none")); err == nil {
		t.Error("no error for a program that does not exist")
	}
}

func TestOnlyRootWrites(t *testing.T) {
	defer func(lookup func(string) (*user.Group, error)) { lookupGroup = lookup }(lookupGroup)
	lookupGroup = func(id string) (*user.Group, error) {
		if name, known := map[string]string{"50": "staff", "51": "ftp"}[id]; known {
			return &user.Group{Name: name}, nil
		}
		return nil, user.UnknownGroupIdError(id)
	}
	for _, tt := range []struct {
		name, path   string
		mode         os.FileMode
		owner, group uint32
		want         bool
	}{
		{"root's: allowed", "/opt/bulkhead", 0o755, 0, 0, true},
		{"root's group may write: allowed", "/opt/bulkhead", 0o775, 0, 0, true},
		{"another group may not write: allowed", "/opt/bulkhead", 0o755, 0, 1000, true},
		{"another group may write: denied", "/opt/bulkhead", 0o775, 0, 1000, false},
		{"another group may write, with the set-group-ID bit: denied", "/opt", os.ModeDir | os.ModeSetgid | 0o775, 0, 1000,
			false},
		{"all users may write: denied", "/opt/bulkhead", 0o757, 0, 0, false},
		{"another user: denied", "/opt/bulkhead", 0o755, 1000, 0, false},
		{"Debian's group staff in /usr/local: allowed", "/usr/local/bin", os.ModeDir | os.ModeSetgid | 0o775, 0, 50, true},
		{"Debian's group staff elsewhere: denied", "/usr/localized", 0o775, 0, 50, false},
		{"a group with another name in /usr/local: denied", "/usr/local/bin", 0o775, 0, 51, false},
		{"another group in /usr/local: denied", "/usr/local/bin", 0o775, 0, 1000, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := onlyRootWrites(tt.path, tt.mode, tt.owner, tt.group); got != tt.want {
				t.Errorf("only root writes: %v, want %v", got, tt.want)
			}
		})
	}
}
