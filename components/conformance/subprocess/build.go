// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Build has the go command build, statically, in a directory of a module. The last of
// args names the package; -o among them says where to.
func Build(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-ldflags=-s -w"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", args[len(args)-1], err, out)
	}
	return nil
}
