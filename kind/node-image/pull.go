// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"bytes"
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

// Pull pulls an image if the engine lacks it, and returns the name by which the engine knows it.
func Pull(ctx context.Context, log io.Writer, engine host.Engine, image string) (string, error) {
	image = engine.Reference(image)
	if _, err := engine.Docker("image", "inspect", image).Output(ctx, io.Discard); err == nil {
		return image, nil
	}
	return image, Fetch(ctx, log, engine, image)
}

// Fetch pulls an image, also if the engine has one of that name. It fails quickly if no registry can be
// reached: until it answers, the client prints nothing. Only the engine knows its proxy and its mirrors,
// so nothing else is asked whether the registry answers.
func Fetch(ctx context.Context, log io.Writer, engine host.Engine, image string) error {
	pull, cancel := context.WithTimeout(ctx, pullLimit)
	defer cancel()
	silent := time.AfterFunc(reachLimit, cancel)
	defer silent.Stop()
	if err := engine.Docker("pull", image).Run(pull, &notifier{log: log, wrote: func() { silent.Stop() }}); err != nil {
		return fmt.Errorf("cannot pull %s: %w", image, err)
	}
	return nil
}

// notifier calls wrote when the pull writes. Before it runs, the command itself is logged.
type notifier struct {
	log   io.Writer
	wrote func()
}

func (n *notifier) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(p, []byte("$ ")) {
		n.wrote()
	}
	return n.log.Write(p)
}
