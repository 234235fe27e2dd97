// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

const (
	// inotifyFile has how many watchers of files a user may have, on the whole machine. A
	// cluster has about fifty that are root's, and Linux mostly allows 128: beside one of a
	// person's own the nodes of a second would not start.
	inotifyFile = "/proc/sys/fs/inotify/max_user_instances"
	inotifyRoom = 512
)

// makeRoom lets the machine have more clusters than one. A node may do that, as it is
// privileged, wherever its engine is, and for whoever asks.
func (l *lane) makeRoom(ctx context.Context) {
	node := (&refcluster.Cluster{Name: l.cluster}).ControlPlane()
	if err := l.works.onNode(ctx, node, raise(inotifyFile, inotifyRoom)); err != nil {
		fmt.Fprintf(l.out, "    the machine may have no room for three clusters (sysctl -w fs.inotify.max_user_instances=%d): %v\n", inotifyRoom, err)
	}
}

// raise is a script for the shell that lets a file have a number that is no smaller.
func raise(file string, least int) string {
	return fmt.Sprintf(`test "$(cat %[1]s)" -ge %[2]d || echo %[2]d >%[1]s`, file, least)
}

// runOnNode runs a script in a node of the reference cluster.
func (r *run) runOnNode(ctx context.Context, node, script string) error {
	env, err := r.nodeEnv(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "docker", "exec", node, "sh", "-c", script)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("on %s: %w: %s", node, err, out)
	}
	return nil
}
