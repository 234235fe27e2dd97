// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"context"
	"fmt"
	"io"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"

	"github.com/bulkhead-k8s/bulkhead/kind/host"
)

// Pinned is the node image for the pinned kind release.
const Pinned = defaults.Image

// An unreachable registry may never answer, so reachLimit is short. A download that has begun may
// take longer.
const (
	reachLimit = 10 * time.Second
	pullLimit  = 10 * time.Minute
)

// Pull pulls kind's pinned image if the engine lacks it. It fails quickly if no registry can be
// reached.
func Pull(ctx context.Context, log io.Writer, engine host.Engine) error {
	if _, err := engine.Docker("image", "inspect", Pinned).Output(ctx, io.Discard); err == nil {
		return nil
	}
	reach, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	if _, err := engine.Docker("manifest", "inspect", Pinned).Output(reach, log); err != nil {
		return fmt.Errorf("no registry answers for %s: %w", Pinned, err)
	}
	pull, cancel := context.WithTimeout(ctx, pullLimit)
	defer cancel()
	return engine.Docker("pull", Pinned).Run(pull, log)
}
