// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// CheckProgram returns an error if a user other than root can replace the program: a unit of systemd runs it
// as root. The program and every directory above it must belong to root. Neither other users nor a group
// other than root's may have the right to write to them, except Debian's group staff in /usr/local. Access
// control lists are not checked.
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

// staffGroup is a group of Debian whose members may write to /usr/local. So they can replace programs that
// root runs there: they are administrators.
const staffGroup = "staff"

// onlyRootWrites returns true if no user other than root may write to a file or directory.
func onlyRootWrites(path string, mode os.FileMode, owner, group uint32) bool {
	return owner == 0 && mode&0o002 == 0 && (mode&0o020 == 0 || group == 0 || staffWrites(path, group))
}

func staffWrites(path string, group uint32) bool {
	if path != "/usr/local" && !strings.HasPrefix(path, "/usr/local/") {
		return false
	}
	found, err := lookupGroup(strconv.FormatUint(uint64(group), 10))
	return err == nil && found.Name == staffGroup
}

// lookupGroup is replaced by tests.
var lookupGroup = user.LookupGroupId
