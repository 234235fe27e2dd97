// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package subprocess builds programs, runs each in a separate process, and reads their memory and
// their health port.
package subprocess

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Build builds programs, statically, in a directory of a module. The output is a file, or a
// directory if it ends with a slash.
func Build(ctx context.Context, module, output string, packages ...string) error {
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", output}, packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %v: %w\n%s", packages, err, out)
	}
	return nil
}
