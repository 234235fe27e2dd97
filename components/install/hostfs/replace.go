// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrChanged says that a file is not what it was when it was read.
var ErrChanged = errors.New("somebody else has changed it meanwhile")

// Replace puts data in the place of a file that was read before, with the same mode and
// owner, as [Write] does. If the file is no longer what it was, it is left alone, and the
// error is [ErrChanged].
//
// It is compared directly before it is replaced, and not in one step with that: who
// renames a file of his own to that place in the microseconds between is overwritten.
func Replace(path string, before File, data []byte) error {
	temp, err := writeTemp(filepath.Dir(path), File{Data: data, Mode: before.Mode, UID: before.UID, GID: before.GID})
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	now, exists, err := Read(path)
	if err == nil && (!exists || !Same(now, before)) {
		err = ErrChanged
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("replacing %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}
