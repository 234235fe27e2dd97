// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// CheckProgram returns an error if a user other than root can replace the program: a unit of systemd runs it
// as root. The program and every directory above it must belong to root, and must not be writable by all
// users. Debian gives the group staff the right to write to /usr/local, so groups are not checked.
func CheckProgram(path string) error {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("cannot find this program on the host: %w", err)
	}
	for at := file; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return fmt.Errorf("cannot find this program on the host: %w", err)
		}
		owner := info.Sys().(*syscall.Stat_t).Uid
		if owner != 0 || info.Mode().Perm()&0o002 != 0 {
			return fmt.Errorf("root would run %s every hour, and a user other than root can replace it: %s belongs to user %d "+
				"and has the mode %04o. Copy the program (install -m 0755 %s /usr/local/bin/bulkhead), and run that copy",
				file, at, owner, info.Mode().Perm(), file)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
