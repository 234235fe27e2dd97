// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// kubectl runs `kubectl bulkhead` by the first program, and completes it by the second.
const (
	plugin         = "kubectl-bulkhead"
	pluginComplete = "kubectl_complete-bulkhead"
)

// completeScript is a script, because kubectl passes only what the user has typed.
const completeScript = `#!/bin/sh
exec kubectl-bulkhead __complete "$@"
`

// addPlugin makes bulkhead in this folder a plugin of kubectl.
func addPlugin(bin string) error {
	link, script := filepath.Join(bin, plugin), filepath.Join(bin, pluginComplete)
	if target, err := os.Readlink(link); err != nil || target != "bulkhead" {
		err := replace(link, func(path string) error { return os.Symlink("bulkhead", path) })
		if err != nil {
			return fmt.Errorf("cannot make bulkhead a plugin of kubectl: %w", err)
		}
	}
	content, err := os.ReadFile(script)
	if err != nil || !bytes.Equal(content, []byte(completeScript)) || !executable(script) {
		err := replace(script, func(path string) error { return os.WriteFile(path, []byte(completeScript), 0o755) })
		if err != nil {
			return fmt.Errorf("cannot write the completion of kubectl bulkhead: %w", err)
		}
	}
	return nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o100 != 0
}

// replace makes a file under another name and renames it, because another job may be running it.
func replace(path string, create func(path string) error) error {
	other := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.Remove(other); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := create(other); err != nil {
		return err
	}
	return os.Rename(other, path)
}
