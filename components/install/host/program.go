// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// CheckProgram returns an error if a user other than root can replace the program: a unit of systemd runs it
// as root. The program and every directory above it must belong to root. Neither other users nor a group
// other than root's may have the right to write to them. Access control lists are not checked.
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
		if owner := info.Sys().(*syscall.Stat_t); !onlyRootWrites(at, info.Mode(), owner.Uid, owner.Gid) {
			return fmt.Errorf("root would run %s every hour, and a user other than root can replace it: %s belongs to user %d "+
				"and group %d, and has the mode %04o. Copy the program (install -m 0755 %s "+
				"/usr/local/bin/bulkhead), and run that copy", file, at, owner.Uid, owner.Gid, info.Mode().Perm(), file)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// debianStaff is the group staff of Debian. Its members may write to /usr/local, so they can replace programs
// that root runs there. They are administrators.
const debianStaff = 50

// onlyRootWrites returns true if no user other than root may write to a file or directory.
func onlyRootWrites(path string, mode os.FileMode, user, group uint32) bool {
	staff := group == debianStaff && (path == "/usr/local" || strings.HasPrefix(path, "/usr/local/"))
	return user == 0 && mode&0o002 == 0 && (mode&0o020 == 0 || group == 0 || staff)
}
