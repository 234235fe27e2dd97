// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// Profiles are what `make up PROFILE=…` takes.
var Profiles = []string{"hardened", "parity", "in-tree"}

// CheckProfile returns an error that names the profiles if this is none.
func CheckProfile(profile string) error {
	if !slices.Contains(Profiles, profile) {
		return fmt.Errorf("there is no profile %q: take one of %q", profile, Profiles)
	}
	return nil
}

// Install runs our installer on the control-plane node, just as it is run on a
// production host: it knows nothing of kind. extra are flags for it. An
// interruption is passed on, and the installer's way back is waited for.
func (c *Cluster) Install(ctx context.Context, profile, image string, extra ...string) error {
	return c.Progress.Step(ctx, "installing the profile "+profile, func(ctx context.Context, log io.Writer) error {
		if err := c.putInstaller(ctx, log); err != nil {
			return err
		}
		done := make(chan struct{})
		defer close(done)
		go c.passOnInterrupt(ctx, done)
		args := []string{"exec", ControlPlane, "bulkhead", "install", "--profile=" + profile, "--image=" + image}
		err := c.Engine.Docker(append(args, extra...)...).Run(context.WithoutCancel(ctx), log)
		return errors.Join(ctx.Err(), err)
	})
}

// passOnInterrupt does what docker exec does not.
func (c *Cluster) passOnInterrupt(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
		c.Progress.Say("    interrupting the installer: it puts the old state back first")
		_, _ = c.exec(context.WithoutCancel(ctx), io.Discard, ControlPlane, "pkill", "-INT", "-f", "^bulkhead install")
	}
}

// putInstaller renames the program into place: an older one may be running.
func (c *Cluster) putInstaller(ctx context.Context, log io.Writer) error {
	const staged = "/usr/local/bin/.bulkhead-new"
	if err := c.Engine.Docker("cp", filepath.Join(c.Output, "bin", "bulkhead"), ControlPlane+":"+staged).Run(ctx, log); err != nil {
		return err
	}
	_, err := c.exec(ctx, log, ControlPlane, "mv", staged, "/usr/local/bin/bulkhead")
	return err
}

// InstalledStatus is what the installer says of the control-plane host.
func (c *Cluster) InstalledStatus(ctx context.Context) (string, error) {
	return c.exec(ctx, io.Discard, ControlPlane, "bulkhead", "status")
}

// Nodes is kubectl's table of the nodes.
func (c *Cluster) Nodes(ctx context.Context) (string, error) {
	return c.exec(ctx, io.Discard, ControlPlane, "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "get", "nodes", "--request-timeout=10s")
}
